import type { Json } from "../../../domain/json.js";
import { safeLine } from "../../../domain/safe-label.js";

const MAX_WORDS = 200;
const MAX_ADDRESS = 2_000;

/** What a server calls something, on one line; nothing where it says no text, or none that can be seen. */
export function wordsOf(words: Json | undefined): string | undefined {
  return typeof words === "string" && words !== "" ? safeLine(words, MAX_WORDS) || undefined : undefined;
}

/** The same for an address, which may be longer. One that is another than it was said to be cannot be read by the model. */
export function addressOf(uri: Json | undefined): string | undefined {
  return typeof uri === "string" && uri !== "" ? safeLine(uri, MAX_ADDRESS) || undefined : undefined;
}
