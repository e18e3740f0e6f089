import { isJsonObject, type JsonObject } from "../../../domain/json.js";
import { fieldOf, textField } from "./wire-json.js";

/** An error as a provider words it; all of it is foreign text. */
export type Complaint = {
  readonly message: string;
  /** Codes and types, joined by blanks; for recognising, not for showing. */
  readonly code: string;
  /** A code that is an HTTP status. */
  readonly status: number | undefined;
};

/**
 * The error in a body or an event: a bare text, `{error}` nested or flat, `{message}`, `{detail}`, `{errors}`, or a list of any of them.
 * Undefined where the value complains of nothing.
 */
export function complaintOf(value: unknown, depth = 0): Complaint | undefined {
  if (depth > 4) return undefined;
  if (typeof value === "string")
    return value.trim() === "" ? undefined : { message: value, code: "", status: undefined };
  if (Array.isArray(value)) return complaintOf(value[0], depth + 1);
  if (!isJsonObject(value)) return undefined;
  const message = MESSAGE_KEYS.map((key) => textField(value, key)).find((text) => text !== undefined);
  const inner = INNER_KEYS.map((key) => complaintOf(fieldOf(value, key), depth + 1)).find(
    (found) => found !== undefined,
  );
  const code = codeOf(value);
  if (inner === undefined && message === undefined && code.text === "") return undefined;
  return {
    message: message ?? inner?.message ?? code.text,
    code: `${code.text} ${inner?.code ?? ""}`.trim(),
    status: code.status ?? inner?.status,
  };
}

const MESSAGE_KEYS = ["message", "msg", "error_msg", "error_message"];
const INNER_KEYS = ["error", "detail", "errors", "innererror"];
const CODE_KEYS = ["code", "type", "status", "reason", "statusCode", "status_code", "error_code"];

function codeOf(value: JsonObject): { readonly text: string; readonly status: number | undefined } {
  const words: string[] = [];
  let status: number | undefined;
  for (const key of CODE_KEYS) {
    const field = fieldOf(value, key);
    const number = Number(field);
    if (typeof field === "string") words.push(field);
    if (typeof field !== "object" && number >= 400 && number <= 599) status ??= number;
  }
  return { text: words.join(" "), status };
}

/** The error that an event of a stream carries beside or instead of a piece of the reply. */
export function complaintInStream(
  value: JsonObject,
  options: { readonly isErrorEvent: boolean },
): Complaint | undefined {
  const error = fieldOf(value, "error");
  const nested = complaintOf(error);
  if (nested !== undefined) return complaintOf(value) ?? nested;
  const isFlat = options.isErrorEvent || value["object"] === "error" || value["type"] === "error" || error === true;
  const saysSo =
    !Object.hasOwn(value, "choices") &&
    (COMPLAINS.some((key) => complaintOf(fieldOf(value, key)) !== undefined) ||
      MESSAGE_KEYS.some((key) => textField(value, key) !== undefined));
  if (!isFlat && !saysSo) return undefined;
  return (
    complaintOf(value) ?? { message: "the provider reported an error without a message", code: "", status: undefined }
  );
}

const COMPLAINS = ["detail", "errors"];

/** Characters in which the text of a page is looked for: what comes later is not read, however long the page. */
const PAGE_HEAD = 4096;

/** The text of an error body that is no JSON: the title of a page, or the words it begins with, without tags. */
export function plainText(body: string): string {
  const head = body.slice(0, PAGE_HEAD);
  const title = /<(?:title|h1)\b[^<>]{0,200}>([^<]{1,1000})</i.exec(head)?.[1];
  return (title ?? head.replace(/<[^<>]{0,1000}>/g, " ")).replace(/\s+/g, " ").trim();
}

/** The tool among `names` (as sent, in the order sent) that an error names by its place or by its name. */
export function toolNamedIn(about: unknown, names: readonly string[]): string | undefined {
  const text = (typeof about === "string" ? about : jsonOf(about)).slice(0, 20_000);
  const place =
    /\bfunction_?declarations(?:\[|\.)(\d{1,4})/i.exec(text)?.[1] ??
    /\btools(?:\[|\.|\\?"?,\s?)(\d{1,4})/.exec(text)?.[1];
  if (place !== undefined && names[Number(place)] !== undefined) return names[Number(place)];
  const quoted = /\b(?:function|tool)s?(?: name)?:? ?\\?['"`]([a-zA-Z0-9_-]{1,64})\\?['"`]/gi;
  for (const [, name] of text.matchAll(quoted)) if (name !== undefined && names.includes(name)) return name;
  return undefined;
}

/** The JSON of foreign data; empty where it nests deeper than can be written. */
function jsonOf(value: unknown): string {
  try {
    return JSON.stringify(value ?? "");
  } catch {
    return "";
  }
}
