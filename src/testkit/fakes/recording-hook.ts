import { Defect } from "../../domain/errors.js";
import type { Stage, StageKind, StageOf, StageOutcome, StagePatches } from "../../domain/stage.js";
import type { ToolResult } from "../../domain/tool.js";
import type { Decision, PipelineHook, StageContext } from "../../ports/hook.js";
import { frozen } from "./frozen.js";

/** At which stages a rule holds: all of one kind, or those a predicate picks. */
export type StageMatch = StageKind | ((stage: Stage, context: StageContext) => boolean);

/** One call of the hook: the stage as it came in, and what went out; no `outcome` when the hook asked for nothing. */
export type StageRecord = {
  readonly stage: Stage;
  readonly round: number;
  readonly decision?: Decision | undefined;
  readonly outcome?: StageOutcome | { readonly kind: "throw"; readonly error: unknown } | undefined;
};

type Reply = (stage: Stage, context: StageContext) => StageOutcome | undefined;
type Rule = { readonly match: StageMatch; readonly reply: Reply; fired: boolean };

/** A hook that records every stage and does as its rules say; the first rule that matches wins, and rules hold for every match. */
export class RecordingHook implements PipelineHook {
  declare readonly name?: string;
  declare readonly stages?: readonly StageKind[];
  declare readonly before?: readonly string[];
  declare readonly after?: readonly string[];
  declare readonly onFailure?: NonNullable<PipelineHook["onFailure"]>;
  readonly #rules: Rule[] = [];
  readonly #records: StageRecord[] = [];

  constructor(members: Omit<PipelineHook, "onStage"> = {}) {
    Object.assign(this, members);
  }

  abortWhen(match: StageMatch, reason = "told to abort"): this {
    return this.replyWhen(match, (_, context) => context.abort(reason));
  }

  stopWhen(match: StageMatch, reason = "told to stop"): this {
    return this.replyWhen(match, (_, context) => context.stop(reason));
  }

  deferWhen(match: StageMatch, reason = "told to defer"): this {
    return this.replyWhen(match, (_, context) => context.defer(reason));
  }

  answerWhen(match: StageMatch, result: ToolResult | string): this {
    return this.replyWhen(match, (_, context) => context.answer(result));
  }

  /** Asks for `next` with this patch, or with what the function makes of the stage. */
  rewriteWhen<K extends keyof StagePatches>(
    kind: K,
    patch: StagePatches[K] | ((stage: StageOf<K>) => StagePatches[K]),
  ): this;
  rewriteWhen(match: StageMatch, patch: AnyPatch | ((stage: Stage) => AnyPatch)): this;
  rewriteWhen(match: StageMatch, patch: AnyPatch | ((stage: never) => AnyPatch)): this {
    const make = (typeof patch === "function" ? patch : () => patch) as (stage: Stage) => AnyPatch;
    return this.replyWhen(match, (stage) => ({ kind: "next", patch: make(stage) }));
  }

  throwWhen(match: StageMatch, error: unknown = new Error("hook told to throw")): this {
    return this.replyWhen(match, () => {
      throw error;
    });
  }

  /** Any other outcome: what `reply` returns. */
  replyWhen(match: StageMatch, reply: Reply): this {
    this.#rules.push({ match, reply, fired: false });
    return this;
  }

  onStage(stage: Stage, context: StageContext): StageOutcome | undefined {
    const record = { stage: frozenStage(stage), round: context.round, decision: context.decision };
    const rule = this.#rules.find(({ match }) =>
      typeof match === "function" ? match(stage, context) : match === stage.kind,
    );
    try {
      const outcome = rule?.reply(stage, context);
      this.#records.push(Object.freeze({ ...record, outcome: frozen(outcome, "outcome") }));
      return outcome;
    } catch (error) {
      this.#records.push(Object.freeze({ ...record, outcome: Object.freeze({ kind: "throw" as const, error }) }));
      throw error;
    } finally {
      if (rule !== undefined) rule.fired = true;
    }
  }

  /** In the order of the calls. */
  get records(): readonly StageRecord[] {
    return [...this.#records];
  }

  /** The kinds of the stages, in the order of the calls. */
  get kinds(): readonly StageKind[] {
    return this.#records.map((record) => record.stage.kind);
  }

  /** What came in at one kind of stage, in order. */
  stagesOf<K extends StageKind>(kind: K): readonly StageOf<K>[] {
    return this.#records.flatMap(({ stage }) => (isKind(stage, kind) ? [stage] : []));
  }

  /** Throws a `Defect` when a rule never held. */
  assertDone(): void {
    const idle = this.#rules.findIndex((rule) => !rule.fired);
    const match = this.#rules[idle]?.match;
    if (match === undefined) return;
    const where = typeof match === "string" ? ` (${match})` : "";
    throw new Defect(`recording_hook_unfinished: rule ${idle + 1} of ${this.#rules.length}${where} never held`);
  }
}

type AnyPatch = StagePatches[keyof StagePatches];

function isKind<K extends StageKind>(stage: Stage, kind: K): stage is Stage & StageOf<K> {
  return stage.kind === kind;
}

/** A thrown value is kept as it is: it need not be JSON. */
function frozenStage(stage: Stage): Stage {
  const fields = Object.entries(stage).map(([key, value]: [string, unknown]) => [
    key,
    key === "error" ? value : frozen(value, `${stage.kind}.${key}`),
  ]);
  return Object.freeze(Object.fromEntries(fields) as Stage);
}
