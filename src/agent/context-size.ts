import { correctionAfter } from "../domain/calibration.js";
import { estimateAll, estimateTools } from "../domain/estimate.js";
import { textTokens } from "../domain/text-tokens.js";
import type { ToolDef } from "../domain/tool.js";
import type { Usage } from "../domain/usage.js";
import type { ChatRequest } from "../ports/model.js";

/** How large the requests of a turn are, as far as estimates tell; they learn from what the provider reports. */
export class ContextSize {
  /** What estimates are multiplied by; nothing as long as no report told. */
  correction: number | undefined;
  #system = { text: "", tokens: 0 };

  /** Tokens by our own estimate, as they are after what was reported. */
  corrected(tokens: number): number {
    return Math.ceil(tokens * (this.correction ?? 1));
  }

  /** What every request holds beside the conversation: the system prompt and the tools. */
  overhead(system: string, tools: readonly ToolDef[]): number {
    if (this.#system.text !== system) this.#system = { text: system, tokens: textTokens(system) };
    return this.corrected(this.#system.tokens + estimateTools(tools));
  }

  /** Learns from a request that was answered. */
  learn({ messages, tools }: Pick<ChatRequest, "messages" | "tools">, usage: Usage | undefined): void {
    if (usage === undefined) return;
    this.correction = correctionAfter(this.correction, estimateAll(messages) + estimateTools(tools), usage);
  }
}
