import { isJsonObject, type JsonObject } from "../../../domain/json.js";

/**
 * The value of JSON text, or undefined where the text is no JSON (JSON itself has no undefined). Costs little on text that does not
 * begin and end like JSON: a parse that throws is a thousand times as dear.
 */
export function decodeJson(text: string): unknown {
  if (!looksLikeJson(text.trim())) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function looksLikeJson(text: string): boolean {
  switch (text.charAt(0)) {
    case "{":
      return text.endsWith("}");
    case "[":
      return text.endsWith("]");
    case '"':
      return text.length > 1 && text.endsWith('"');
    default:
      return text === "null" || text === "true" || text === "false" || /^-?\d[\d.eE+-]*$/.test(text);
  }
}

/** JSON text that is well-formed wherever it is decoded: lone surrogates of keys and strings become U+FFFD. Throws like `JSON.stringify`. */
export function encodeJson(value: unknown): string {
  const text = JSON.stringify(value) ?? "null";
  // JSON.stringify writes a surrogate as an escape only where it stands alone; an escaped backslash is matched as a whole.
  return text.includes("\\ud") ? text.replace(/\\(?:\\|u[dD][89a-fA-F][0-9a-fA-F]{2})/g, replaceLone) : text;
}

function replaceLone(escape: string): string {
  return escape === "\\\\" ? escape : "\ufffd";
}

/** A field of foreign JSON; undefined where `value` is no object or lacks it. Inherited fields do not count. */
export function fieldOf(value: unknown, key: string): unknown {
  return isJsonObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
}

/** A text field of foreign JSON that is not empty. */
export function textField(value: unknown, key: string): string | undefined {
  const field = fieldOf(value, key);
  return typeof field === "string" && field !== "" ? field : undefined;
}

/** An object field of foreign JSON. */
export function objectField(value: unknown, key: string): JsonObject | undefined {
  const field = fieldOf(value, key);
  return isJsonObject(field) ? field : undefined;
}

/** An array field of foreign JSON; empty where there is none. A single object counts as a list of one. */
export function listField(value: unknown, key: string): readonly unknown[] {
  const field = fieldOf(value, key);
  if (Array.isArray(field)) return field;
  return isJsonObject(field) ? [field] : [];
}

/** An id field of foreign JSON; some servers number their calls. */
export function idField(value: unknown, key: string): string | undefined {
  const field = fieldOf(value, key);
  return typeof field === "number" ? String(field) : textField(value, key);
}

/** Arguments of a call as the text a stream brings, whether the server sent text or a value; empty where it sent none. */
export function argumentsField(value: unknown, key: string): string {
  const field = fieldOf(value, key) ?? "";
  return typeof field === "string" ? field : encodeJson(field);
}
