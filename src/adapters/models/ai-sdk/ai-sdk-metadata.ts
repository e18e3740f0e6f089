import { isJsonObject, type Json, type JsonObject } from "../../../domain/json.js";
import type { AssistantPart, ReasoningPart, ToolCallPart } from "../../../domain/message.js";
import type { SharedV4ProviderMetadata } from "./ai-sdk-types.js";
import { fieldOf, textField } from "../wire/wire-json.js";

/** What a part of a reply holds beyond its text; it travels through an AI SDK conversation under the name `ennead`. */
export type PartMetadata = {
  readonly provider: string | undefined;
  readonly providerData: Json | undefined;
  readonly reasoning: Partial<Pick<ReasoningPart, "signature" | "redacted">>;
  readonly call: Partial<Pick<ToolCallPart, "raw">>;
};

/** The metadata that brings a part back whole; undefined where its text says all. Reasoning names its provider, or it would go to none. */
export function toMetadata(part: AssistantPart, provider: string | undefined): SharedV4ProviderMetadata | undefined {
  const { providerData } = part;
  const fields: { [key: string]: Json } = {};
  if (providerData !== undefined) fields["providerData"] = providerData;
  if (part.type === "reasoning" && part.signature !== undefined) fields["signature"] = part.signature;
  if (part.type === "reasoning" && part.redacted === true) fields["redacted"] = true;
  if (part.type === "toolCall" && part.raw !== undefined) fields["raw"] = part.raw;
  if (Object.keys(fields).length === 0 && part.type !== "reasoning") return undefined;
  if (provider !== undefined) fields["provider"] = provider;
  if (Object.keys(fields).length === 0) return undefined;
  return { ennead: fields as SharedV4ProviderMetadata[string] };
}

/** Reads such metadata from what a caller gives back; what is none of it says nothing. */
export function metadataOf(options: unknown): PartMetadata {
  const own = fieldOf(options, "ennead");
  const signature = textField(own, "signature");
  const raw = textField(own, "raw");
  return {
    provider: textField(own, "provider"),
    providerData: isJsonObject(own) ? own["providerData"] : undefined,
    reasoning: {
      ...(signature === undefined ? undefined : { signature }),
      ...(fieldOf(own, "redacted") === true ? { redacted: true } : undefined),
    },
    call: raw === undefined ? {} : { raw },
  };
}

/** The field of a part, where there is any such data. */
export function partData({ providerData }: PartMetadata): { readonly providerData?: Json | JsonObject } {
  return providerData === undefined ? {} : { providerData };
}
