import type { CountText } from "../../domain/estimate.js";

/** `o200k_base` is that of the GPT-4o and GPT-5 families, `cl100k_base` of those before. */
export type GptEncoding = "o200k_base" | "cl100k_base";

/** Long text is counted in pieces of this length: the time a tokenizer takes for one unbroken run grows with its square. */
const PIECE = 4_096;

/**
 * Counts tokens as OpenAI's models do, with the optional peer `gpt-tokenizer`, whose tables are loaded here. Text that looks like a
 * control token counts as the text it is. A cut between pieces may add a token for each 4,096 characters.
 */
export async function gptTokens(encoding: GptEncoding = "o200k_base"): Promise<CountText> {
  const { countTokens } =
    encoding === "cl100k_base"
      ? await import("gpt-tokenizer/encoding/cl100k_base")
      : await import("gpt-tokenizer/encoding/o200k_base");
  const asText = { disallowedSpecial: new Set<string>() };
  return (text) => {
    let tokens = 0;
    for (let at = 0; at < text.length; at += PIECE) tokens += countTokens(text.slice(at, at + PIECE), asText);
    return tokens;
  };
}
