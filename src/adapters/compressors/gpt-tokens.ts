import { CompositionError } from "../../domain/errors.js";
import type { CountText } from "../../domain/estimate.js";
import { missingPackage } from "../../domain/missing-package.js";

/** `o200k_base` is that of the GPT-4o and GPT-5 families, `cl100k_base` of those before. */
export type GptEncoding = "o200k_base" | "cl100k_base";

/** Long text is counted in pieces of this length: the time a tokenizer takes for one unbroken run grows with its square. */
const PIECE = 4_096;

/**
 * Counts tokens as OpenAI's models do, with the optional peer `gpt-tokenizer`, whose tables are loaded here. Text that looks like a
 * control token counts as the text it is. A cut between pieces may add a token for each 4,096 characters. Rejects with
 * `CompositionError("invalid-config")` where the package does not load.
 */
export async function gptTokens(encoding: GptEncoding = "o200k_base"): Promise<CountText> {
  const { countTokens } = await tables(encoding).catch((cause: unknown) => {
    throw new CompositionError("invalid-config", `gptTokens ${missingPackage("gpt-tokenizer", cause).message}`, {
      cause,
    });
  });
  const asText = { disallowedSpecial: new Set<string>() };
  return (text) => {
    let tokens = 0;
    for (let at = 0; at < text.length; at += PIECE) tokens += countTokens(text.slice(at, at + PIECE), asText);
    return tokens;
  };
}

function tables(encoding: GptEncoding) {
  return encoding === "cl100k_base"
    ? import("gpt-tokenizer/encoding/cl100k_base")
    : import("gpt-tokenizer/encoding/o200k_base");
}
