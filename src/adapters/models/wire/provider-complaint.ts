import { isJsonObject, type JsonObject } from "../../../domain/json.js";
import { decodeJson, fieldOf, textField } from "./wire-json.js";

/** An error as a provider words it; all of it is foreign text. */
export type Complaint = {
  readonly message: string;
  /** Codes and types, joined by blanks; for recognising, not for showing. */
  readonly code: string;
  /** A code that is an HTTP status. */
  readonly status: number | undefined;
};

/**
 * The error in a body or an event: a bare text, `{error}` nested or flat, `{message}`, `{detail}`, `{errors}`, or a list of any of them,
 * with what a gateway quotes of the provider behind it. Undefined where the value complains of nothing.
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
  const quoted = quotedIn(value, depth);
  const told = message ?? inner?.message ?? code.text;
  return {
    message: quoted === undefined ? told : `${told}: ${quoted.message}`,
    code: [code.text, inner?.code, quoted?.code].filter((text) => text !== undefined && text !== "").join(" "),
    status: code.status ?? inner?.status,
  };
}

/** Gateways put the provider's own error beside a text that says nothing. */
function quotedIn(value: JsonObject, depth: number): Complaint | undefined {
  const raw = fieldOf(fieldOf(value, "metadata"), "raw");
  return complaintOf(typeof raw === "string" ? (decodeJson(raw) ?? raw) : raw, depth + 1);
}

const MESSAGE_KEYS = ["message", "msg", "error_msg", "error_message", "status_msg"];
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
  const failed = fieldOf(value, "base_resp");
  if (saysSomething(fieldOf(failed, "status_code"))) return complaintOf(failed) ?? UNWORDED;
  const saysSo =
    !Object.hasOwn(value, "choices") &&
    (COMPLAINS.some((key) => complaintOf(fieldOf(value, key)) !== undefined) ||
      MESSAGE_KEYS.some((key) => textField(value, key) !== undefined) ||
      value["status"] === "error" ||
      value["status"] === "failed");
  if (isFlat || saysSo) return complaintOf(value) ?? UNWORDED;
  return saysSomething(error) ? (complaintOf({ code: error }) ?? { ...UNWORDED, message: wordsOf(error) }) : undefined;
}

const COMPLAINS = ["detail", "errors"];
const UNWORDED: Complaint = {
  message: "the provider reported an error without a message",
  code: "",
  status: undefined,
};

/** True for any value but those with which servers say that there is nothing: null, false, zero, and objects of nothing else. */
function saysSomething(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return Boolean(value);
  return Object.values(value).some((field) => Boolean(field));
}

/** An error in a form that nobody knows, as it stands. */
function wordsOf(error: unknown): string {
  return jsonOf(error).slice(0, 2000);
}

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
