import { isJsonObject, type JsonObject } from "./json.js";
import { isLossless } from "./lossless-number.js";

/** Levels that arguments may nest; below what `adopt` allows, so that the message around them still fits. */
const MAX_DEPTH = 240;

/** What the text of a call's arguments stands for. `raw` is set only where encoding `value` again would give another value. */
export type ParsedArguments =
  | { readonly ok: true; readonly value: JsonObject; readonly raw?: string }
  | { readonly ok: false; readonly reason: string };

/**
 * Reads the arguments text of a tool call. Blank text and `null` mean `{}`; a JSON string that holds an object is parsed once more;
 * `__proto__` stays an own key. A number beyond the range of a double becomes the nearest one, with `raw` beside it. Linear in the
 * length of `text`; `reason` holds none of it.
 */
export function parseArguments(text: string): ParsedArguments {
  if (text.trim() === "") return { ok: true, value: {} };
  const outer = parseJson(text);
  if (outer === undefined) return { ok: false, reason: "the arguments are not valid JSON" };
  if (typeof outer.value !== "string") return asObject(outer.value, text);
  if (outer.value.trim() === "") return { ok: true, value: {} };
  const inner = parseJson(outer.value);
  return inner === undefined ? NO_OBJECT : asObject(inner.value, outer.value);
}

const NO_OBJECT: ParsedArguments = { ok: false, reason: "the arguments are no JSON object" };

function parseJson(text: string): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return undefined;
  }
}

function asObject(value: unknown, text: string): ParsedArguments {
  if (value === null) return { ok: true, value: {} };
  if (!isJsonObject(value)) return NO_OBJECT;
  const found = inspect(text);
  if (found.depth > MAX_DEPTH) return { ok: false, reason: "the arguments are nested too deep" };
  if (!found.lossy) return { ok: true, value };
  return { ok: true, value: found.infinite ? (JSON.parse(text, toFinite) as JsonObject) : value, raw: text };
}

function toFinite(_key: string, value: unknown): unknown {
  if (value === Infinity) return Number.MAX_VALUE;
  return value === -Infinity ? -Number.MAX_VALUE : value;
}

type Inspection = { depth: number; lossy: boolean; infinite: boolean };

/** One pass over valid JSON text: how deep it nests, and whether a number in it is more than a double holds. */
function inspect(text: string): Inspection {
  const found: Inspection = { depth: 0, lossy: false, infinite: false };
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfString(text, at);
    else if (code === BRACE || code === BRACKET) found.depth = Math.max(found.depth, ++depth);
    else if (code === BRACE_END || code === BRACKET_END) depth -= 1;
    else if (code === MINUS || (code >= ZERO && code <= NINE)) {
      const end = endOfNumber(text, at);
      judge(text.slice(at, end), found);
      at = end - 1;
    }
  }
  return found;
}

const QUOTE = 34;
const MINUS = 45;
const ZERO = 48;
const NINE = 57;
const BRACKET = 91;
const BACKSLASH = 92;
const BRACKET_END = 93;
const BRACE = 123;
const BRACE_END = 125;

/** Index of the quote that closes the string opened at `start`. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let slashes = 0;
    while (text.charCodeAt(end - 1 - slashes) === BACKSLASH) slashes += 1;
    if (slashes % 2 === 0) return end;
  }
  return text.length;
}

function endOfNumber(text: string, start: number): number {
  let end = start + 1;
  while (end < text.length && "0123456789.eE+-".includes(text.charAt(end))) end += 1;
  return end;
}

function judge(token: string, found: Inspection): void {
  const value = Number(token);
  if (!Number.isFinite(value)) found.infinite = found.lossy = true;
  else if (Object.is(value, -0)) found.lossy = true;
  else if (token.length > 15 || /e/i.test(token)) found.lossy ||= !isLossless(token);
}
