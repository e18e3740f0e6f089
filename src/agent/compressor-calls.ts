import { ModelError } from "../domain/errors.js";
import { decodeResponse } from "../domain/model-response.js";
import { decodeUsage, type Usage } from "../domain/usage.js";
import type { AskModel } from "../ports/compressor.js";
import { isFree } from "./draw.js";
import type { TurnRun } from "./turn-run.js";

/** What a model call that a compressor made is known to have used, as a step records it. */
export type CompressorCall = { readonly usage?: Usage };

/** The model calls of one request to a compressor, on the account of the turn (A5). */
export class CompressorCalls {
  /** Those that ended, in that order. */
  readonly made: CompressorCall[] = [];
  readonly #run: TurnRun;
  readonly #signal: AbortSignal;
  #waiting = 0;

  constructor(run: TurnRun, signal: AbortSignal) {
    this.#run = run;
    this.#signal = signal;
  }

  /** Those that ended, and those that still wait for an answer. */
  get sent(): readonly CompressorCall[] {
    return [...this.made, ...Array.from({ length: this.#waiting }, () => ({}))];
  }

  readonly ask: AskModel = async (model, { messages, options, signal = this.#signal }) => {
    const { sessionId, turnId, round, budget } = this.#run;
    const charge = budget.reserve({ messages, tools: [], options });
    if (typeof charge === "string") throw new ModelError("request-build", `no budget is left: ${charge}`);
    let used: Usage | "unknown" | "free" = "unknown";
    this.#waiting += 1;
    try {
      const request = { messages, tools: [], options, signal, sessionId, turnId, round };
      const response = decodeResponse(await model.chat(request), "the reply");
      used = response.usage ?? "unknown";
      return response;
    } catch (error) {
      if (error instanceof ModelError) {
        used = error.usage === undefined ? (isFree(error) ? "free" : "unknown") : decodeUsage(error.usage);
      }
      throw error;
    } finally {
      this.#waiting -= 1;
      charge.settle(used, { model: options.model });
      this.made.push(typeof used === "string" ? {} : { usage: used });
    }
  };
}

/** Counts the calls of a step; `replayed`: it ran in an earlier attempt at this turn, and its calls are not on these budgets yet. */
export function countCalls(run: TurnRun, calls: readonly CompressorCall[], { replayed }: { replayed: boolean }): void {
  run.uncounted = [...run.uncounted, ...calls.map(({ usage }) => usage)];
  for (const call of calls) {
    if (!replayed) continue;
    const charge = run.budget.reserve({ messages: [], tools: [], options: { maxOutputTokens: 0 } });
    if (typeof charge !== "string") charge.settle(call.usage ?? "unknown", {});
  }
}
