import { ModelError } from "../../domain/errors.js";
import type { ModelResponse } from "../../domain/model.js";
import { textTokens } from "../../domain/text-tokens.js";
import { insideTags } from "./summary-text.js";

/** How models begin when they do not do what they were asked. */
const REFUSAL =
  /^\W*(i['’]?m (very )?sorry|i am (very )?sorry|sorry\b|i (can(['’]?t|not)|am unable|am not able|won['’]?t|must decline)|as an ai\b|unfortunately, i)/i;

/** A letter or a digit of any script, or a picture of one word. */
const SAYS_SOMETHING = /[\p{L}\p{N}\p{Extended_Pictographic}]/u;

/** The summary that a model answered. Throws `ModelError("response-parse")` for what is none: empty, cut off, refused, a tool call, or longer than twice `maxTokens`. */
export function summaryOf({ parts, finishReason }: ModelResponse, maxTokens: number): string {
  if (finishReason === "length") throw unusable("was cut off");
  if (finishReason === "refusal" || finishReason === "content-filter") throw unusable("was refused");
  if (finishReason === "aborted") throw new ModelError("aborted", "the summary was aborted");
  if (parts.some((part) => part.type === "toolCall")) throw unusable("is a tool call");
  const text = parts.map((part) => (part.type === "text" ? part.text : "")).join("");
  const tagged = insideTags(text);
  const summary = tagged ?? text.trim();
  if (!SAYS_SOMETHING.test(summary)) throw unusable("is empty");
  if (tagged === undefined && REFUSAL.test(summary)) throw unusable("was refused");
  if (textTokens(summary) > 2 * maxTokens) throw unusable("is too long");
  return summary;
}

function unusable(fault: string): ModelError {
  return new ModelError("response-parse", `the summary ${fault}`, { retryable: false });
}
