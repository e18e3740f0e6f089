import { STAGE_KINDS, STAGE_PAIRS, type Stage, type StageKind, type StageOutcome } from "../../domain/stage.js";
import { safeLabel } from "../../domain/safe-label.js";
import { errorResult } from "../../domain/tool.js";
import type { OnFailure, PipelineHook, StageContext } from "../../ports/hook.js";
import { AfterStage } from "./after-stage.js";
import { EnteredHooks } from "./entered-hooks.js";
import { numberedContext } from "./numbered-context.js";

/**
 * Several hooks as one, in the order given: the first stands outermost. Before stages go forward, each hook sees what those before it
 * changed, and the first outcome that ends the stage wins, without the changes made so far, but for those of a call that is deferred. After and error stages go in reverse through
 * the hooks that were entered (H1), and none keeps the others from running: changes add up, a `stop` is kept, the first `retry` or
 * `answer` wins, a throw is thrown at the end or, where there is an outcome to keep, published as `secondary_failure`. The hooks' own
 * `onFailure` holds; their `before` and `after` do not, and the largest of their `timeoutMs` bounds the whole; a reply or result that one of them would withhold is withheld too where the whole takes too long. A decision is for all of the chain. Messages a hook makes have no id yet when the next one sees them.
 */
export function hookChain(name: string, hooks: readonly PipelineHook[]): PipelineHook {
  const chain = new HookChain(name, hooks);
  const stages = stagesOf(hooks);
  const times = hooks.flatMap(({ timeoutMs }) => timeoutMs ?? []);
  const patience = times.length === 0 ? undefined : { timeoutMs: Math.max(...times) };
  const onStage: PipelineHook["onStage"] = (stage, context) => chain.ask(stage, context);
  return { name, ...(stages && { stages }), ...patience, onFailure: chain.onFailure, onStage };
}

/** What the chain as a whole must not let pass when it is given up: a call it was asked about does not run in any case. */
function strictest(hooks: readonly PipelineHook[]): OnFailure {
  const withholds = hooks.some(({ onFailure }) => onFailure?.afterModel === "withhold");
  const refuses = hooks.some(({ onFailure }) => onFailure?.afterTool === "error-result");
  return { ...(withholds && { afterModel: "withhold" }), ...(refuses && { afterTool: "error-result" }) };
}

/** Nothing when one of the hooks wants all stages. */
function stagesOf(hooks: readonly PipelineHook[]): readonly StageKind[] | undefined {
  if (hooks.some((hook) => hook.stages === undefined)) return undefined;
  return Object.freeze(STAGE_KINDS.filter((kind) => hooks.some((hook) => hook.stages?.includes(kind))));
}

class HookChain {
  readonly onFailure: OnFailure;
  readonly #name: string;
  readonly #hooks: readonly PipelineHook[];
  readonly #entered = new EnteredHooks();

  constructor(name: string, hooks: readonly PipelineHook[]) {
    this.#name = name;
    this.#hooks = [...hooks];
    this.onFailure = strictest(hooks);
  }

  ask(stage: Stage, context: StageContext): Promise<StageOutcome | undefined> | undefined {
    if (!this.#hooks.some((hook) => takesPart(hook, stage.kind))) return undefined;
    return STAGE_PAIRS[stage.kind] === undefined ? this.#forward(stage, context) : this.#reverse(stage, context);
  }

  async #forward(stage: Stage, context: StageContext): Promise<StageOutcome | undefined> {
    this.#entered.all(stage, context);
    let current = stage;
    let patch: object | undefined;
    for (const [index, hook] of this.#hooks.entries()) {
      if (!takesPart(hook, stage.kind)) continue;
      try {
        const outcome = await hook.onStage(current, numberedContext(context, this.#name, hook, index));
        if (outcome === undefined) continue;
        if (outcome.kind !== "next") {
          this.#entered.upTo(index, stage, context);
          return outcome.kind === "defer" && patch !== undefined
            ? { ...outcome, patch: { ...patch, ...outcome.patch } }
            : outcome;
        }
        patch = { ...patch, ...outcome.patch };
        current = { ...current, ...outcome.patch } as Stage;
      } catch (error) {
        this.#entered.upTo(index, stage, context);
        if (stage.kind !== "beforeTool" || hook.onFailure?.beforeTool !== "error-result") throw error;
        return context.answer(
          errorResult(`The call was refused: hook ${safeLabel(hook.name ?? String(index))} failed.`),
        );
      }
    }
    return patch && { kind: "next", patch };
  }

  async #reverse(stage: Stage, context: StageContext): Promise<StageOutcome | undefined> {
    const entered = this.#entered.count(stage, context);
    const before = STAGE_PAIRS[stage.kind];
    const after = new AfterStage(stage);
    for (const [index, hook] of [...this.#hooks.entries()].reverse()) {
      const paired = before !== undefined && takesPart(hook, before);
      if (!takesPart(hook, stage.kind) || (paired && index >= entered)) continue;
      try {
        after.take(await hook.onStage(after.stage, numberedContext(context, this.#name, hook, index)));
      } catch (error) {
        after.fail(error, hook);
      }
    }
    return after.outcome(context, this.onFailure);
  }
}

function takesPart(hook: PipelineHook, kind: StageKind): boolean {
  return hook.stages === undefined || hook.stages.includes(kind);
}
