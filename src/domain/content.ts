import type { JsonObject } from "./json.js";

/** Where the bytes of an image or a file are: inline as standard base64, or at an address the model's provider can reach. */
export type ContentSource = { readonly base64: string } | { readonly url: string };

/** Plain text; may be empty, may hold any UTF-16 code unit. */
export type TextContent = { readonly type: "text"; readonly text: string };

/** A picture; `mimeType` is an `image/*` type. */
export type ImageContent = { readonly type: "image"; readonly source: ContentSource; readonly mimeType: string };

/** Any other file; `name` is for showing, never a path to open. */
export type FileContent = {
  readonly type: "file";
  readonly source: ContentSource;
  readonly mimeType: string;
  readonly name?: string;
};

/** One piece of a message. Parts of a type unknown to this version are kept in stored messages and never sent. */
export type Content = TextContent | ImageContent | FileContent;

/** What helpers and tools accept: a string stands for one text part. */
export type ContentInput = string | readonly Content[];

/** The stored form: a string becomes one text part, the empty string becomes no part. */
export function toContent(input: ContentInput): readonly Content[] {
  if (typeof input !== "string") return input;
  return input === "" ? [] : [{ type: "text", text: input }];
}

/** The text parts joined without a separator; other parts are skipped. */
export function contentText(content: readonly Content[]): string {
  if (content.length === 1 && content[0]?.type === "text") return content[0].text;
  let text = "";
  for (const part of content) if (part.type === "text") text += part.text;
  return text;
}

/** JSON a message or session carries for its application; the framework stores it and never reads it. */
export type Metadata = JsonObject;
