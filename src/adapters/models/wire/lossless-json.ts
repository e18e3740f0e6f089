import { isLossless } from "../../../domain/lossless-number.js";
import { decodeJson } from "./wire-json.js";

/**
 * The value of JSON text, made so that `JSON.stringify` writes numbers that no double holds with the digits they came with; undefined
 * where the text is no JSON. A runtime that cannot keep digits rounds them.
 */
export function losslessJson(text: string): unknown {
  const rawJson: unknown = Reflect.get(JSON, "rawJSON");
  try {
    if (typeof rawJson !== "function") return JSON.parse(text);
    return JSON.parse(text, (_key, value: unknown, context?: { readonly source?: string }) => {
      const digits = context?.source;
      const isRounded = typeof value === "number" && digits !== undefined && !isLossless(digits);
      return isRounded ? (Reflect.apply(rawJson, JSON, [digits]) as unknown) : value;
    });
  } catch {
    return undefined;
  }
}

/** `decodeJson`, with the digits of numbers kept where there are such numbers: to look at each value costs several times as much. */
export function decodeLossless(text: string): unknown {
  return /\d{16}|\d[eE][+-]?\d{3}/.test(text) ? losslessJson(text) : decodeJson(text);
}
