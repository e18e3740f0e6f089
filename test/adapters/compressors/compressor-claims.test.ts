import { describe, test } from "vitest";
import { ChainCompressor } from "../../../src/adapters/compressors/chain.js";
import { SlidingWindowCompressor } from "../../../src/adapters/compressors/sliding-window.js";
import { SummarizeCompressor } from "../../../src/adapters/compressors/summarize.js";
import { TokenBudgetCompressor } from "../../../src/adapters/compressors/token-budget.js";
import { ToolResultTrimCompressor } from "../../../src/adapters/compressors/tool-result-trim.js";
import { ModelError } from "../../../src/domain/errors.js";
import type { Compressor } from "../../../src/ports/compressor.js";
import type { ModelPort } from "../../../src/ports/model.js";
import { compressorClaims, type CompressorFixture, runClaims, stopResponse } from "../../../src/testkit/index.js";

const asksNobody = { waits: { missing: "it asks nobody" }, fails: { missing: "it asks nobody" } } as const;

describe.each<[string, () => Compressor]>([
  ["a sliding window of 3 messages", () => new SlidingWindowCompressor({ maxMessages: 3 })],
  ["a sliding window of 12 messages", () => new SlidingWindowCompressor({ maxMessages: 12 })],
  ["a token budget", () => new TokenBudgetCompressor()],
  ["a small token budget", () => new TokenBudgetCompressor({ maxTokens: 1_000 })],
  ["a token budget that counts", () => new TokenBudgetCompressor({ count: (text) => text.length / 3 })],
  ["trimmed results", () => new ToolResultTrimCompressor()],
  ["trimmed results, not even the newest whole", () => new ToolResultTrimCompressor({ keepNewest: 0 })],
  ["a chain", () => new ChainCompressor([new SlidingWindowCompressor(), new TokenBudgetCompressor()])],
  [
    "a chain of views",
    () => new ChainCompressor([new ToolResultTrimCompressor(), new TokenBudgetCompressor()], { mode: "all" }),
  ],
])("%s", (_, make) => {
  runClaims({ test, claims: compressorClaims, make: () => ({ compressor: make() }), capabilities: asksNobody });
});

/** A model of summaries that can be told to hang or fail. */
class SummaryModel implements ModelPort {
  mode: "answers" | "hangs" | "fails" = "answers";

  async chat({ signal }: { readonly signal: AbortSignal }) {
    if (this.mode === "fails") throw new ModelError("server", "down");
    if (this.mode === "answers") return stopResponse("<summary>They talked about foxes.</summary>");
    return new Promise<never>((_, reject) => {
      signal.addEventListener("abort", () => reject(new ModelError("aborted", "aborted")), { once: true });
    });
  }
}

function summarizing(make: (model: ModelPort) => Compressor): CompressorFixture {
  const model = new SummaryModel();
  return {
    compressor: make(model),
    hang: () => void (model.mode = "hangs"),
    break: () => void (model.mode = "fails"),
  };
}

describe.each<[string, (model: ModelPort) => Compressor]>([
  ["summaries that replace", (model) => new SummarizeCompressor({ model })],
  ["summaries that begin a thread", (model) => new SummarizeCompressor({ model, into: "newThread" })],
  ["summaries that keep one exchange", (model) => new SummarizeCompressor({ model, keepExchanges: 1 })],
  ["a chain with summaries", (model) => new ChainCompressor([new SummarizeCompressor({ model })])],
])("%s", (_, make) => {
  runClaims({ test, claims: compressorClaims, make: () => summarizing(make) });
});
