import { ChainCompressor } from "ennead/compressors/chain";
import { gptTokens } from "ennead/compressors/gpt-tokens";
import { SlidingWindowCompressor } from "ennead/compressors/sliding-window";
import { SummarizeCompressor } from "ennead/compressors/summarize";
import { TokenBudgetCompressor } from "ennead/compressors/token-budget";
import { ToolResultTrimCompressor } from "ennead/compressors/tool-result-trim";
import { OpenAiChatModel } from "ennead/models/openai-chat";

// #region window
/** The newest forty messages, whatever their length. */
export const window = new SlidingWindowCompressor({ maxMessages: 40 });

/** What fits three quarters of the model's window, system prompt and tools included. */
export const budget = new TokenBudgetCompressor();

/** At most 30,000 tokens, counted by a real tokenizer. */
export const counted = async () => new TokenBudgetCompressor({ maxTokens: 30_000, count: await gptTokens() });
// #endregion window

// #region trim
/** From half of the window on, all but the five newest results by their beginning and end. */
export const trim = new ToolResultTrimCompressor({ share: 0.5, keepNewest: 5, maxCharacters: 2_000 });
// #endregion trim

// #region chain
const small = new OpenAiChatModel({ model: "gpt-5.5-mini", apiKey: () => process.env["OPENAI_API_KEY"] });

/** Results first; a summary of what is still too much; and where no summary comes about, the newest that fits. */
export const chain = new ChainCompressor([trim, new SummarizeCompressor({ model: small }), budget], { mode: "all" });
// #endregion chain
