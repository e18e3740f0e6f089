import { CompositionError, Defect, errorCategory } from "../../domain/errors.js";
import type { JsonObject } from "../../domain/json.js";
import { checkFields } from "../../domain/known-fields.js";
import { isTimeLimit } from "../../domain/limits.js";
import { copyJson } from "../../domain/adopt.js";
import { toolCallsOf } from "../../domain/message.js";
import { safeLabel } from "../../domain/safe-label.js";
import type { Stage } from "../../domain/stage.js";
import type { Awaitable } from "../../ports/awaitable.js";
import type { HookContext, PipelineHook } from "../../ports/hook.js";
import type { AuditRecord, AuditType } from "./audit-record.js";
import { bounded } from "./bounded.js";

export { auditFile } from "./audit-file.js";
export type { AuditRecord, AuditType } from "./audit-record.js";

/** Where records go, and what is in them. */
export type AuditOptions = {
  /** Gets each record before the turn goes on. `auditFile(path)` is one. */
  readonly sink: (record: AuditRecord) => Awaitable<void>;
  /** For whom a turn runs: who is accountable, not what is said. */
  readonly actor?: ((context: Pick<HookContext, "sessionId" | "turnId">) => string | undefined) | undefined;
  /** Input, replies, arguments and results too. */
  readonly content?: true | undefined;
  /**
   * A record that cannot be kept: `report` (the default) tells of it in an `audit-failed` event and goes on. `refuse` begins no turn and runs no call
   * without a record; what has happened by then is reported.
   */
  readonly onFailure?: "report" | "refuse" | undefined;
  /** Milliseconds the sink may take; default 5,000. */
  readonly timeoutMs?: number | undefined;
  /** Default "audit". */
  readonly name?: string | undefined;
  readonly before?: readonly string[] | undefined;
  readonly after?: readonly string[] | undefined;
};

const SINK_MS = 5_000;
const GRACE_MS = 1_000;

const STAGES = [
  "beforeTurn",
  "afterModel",
  "modelError",
  "beforeTool",
  "admitTool",
  "settleTool",
  "afterTurn",
  "turnError",
] as const;

/**
 * Keeps a record of who had what done, when, and what came of it: turns, replies, approvals, calls when they start and when they end. A record
 * holds no content unless that is asked for. Under a durable engine each is kept once. Throws `CompositionError("invalid-config")` for options without a
 * sink.
 */
export function audit(options: AuditOptions): PipelineHook {
  checkOptions(options);
  const { name = "audit", before, after, timeoutMs = SINK_MS, onFailure = "report" } = options;
  return {
    name,
    stages: STAGES,
    ...(before && { before }),
    ...(after && { after }),
    timeoutMs: timeoutMs + GRACE_MS,
    async onStage(stage, context) {
      const entry = entryOf(stage, context);
      if (entry === undefined) return;
      try {
        await context.step("record", () => keep(options, entry, context));
      } catch (error) {
        if (Defect.is(error) || onFailure === "refuse") throw error;
        context.emit("audit-failed", { type: entry.type, errorCategory: errorCategory(error) });
      }
    },
  };
}

type Entry = { readonly type: AuditType; readonly facts: Facts; readonly content?: () => unknown };
type Facts = Readonly<Record<string, unknown>>;

async function keep(options: AuditOptions, { type, facts, content }: Entry, context: HookContext): Promise<null> {
  const { sink, actor, timeoutMs = SINK_MS } = options;
  const { turnId, sessionId, round } = context;
  const who = actor?.({ sessionId, turnId });
  const record: AuditRecord = {
    at: Date.now(),
    type,
    turnId,
    sessionId,
    round,
    ...(who !== undefined && { actor: who }),
    facts: copyJson(facts, "facts") as JsonObject,
    ...(options.content && content && { content: copyJson(content(), "content") }),
  };
  // The end of a turn that was aborted is worth a record too.
  await bounded(timeoutMs, new AbortController().signal, () => sink(record));
  return null;
}

/** Names come from models and may be anything: one line each. */
function callFacts(callId: string, tool: string): Facts {
  return { callId: safeLabel(callId), tool: safeLabel(tool) };
}

function entryOf(stage: Stage, context: HookContext): Entry | undefined {
  switch (stage.kind) {
    case "beforeTurn":
      return { type: "turn-began", facts: { messages: stage.input.length }, content: () => stage.input };
    case "afterModel": {
      const { parts, finishReason, model, provider, usage } = stage.response;
      const calls = toolCallsOf({ role: "assistant", parts }).map(({ id, name }) => callFacts(id, name));
      if (stage.stopped !== undefined)
        return { type: "model-stopped", facts: { stopped: stage.stopped }, content: () => parts };
      return { type: "model-replied", facts: { finishReason, model, provider, usage, calls }, content: () => parts };
    }
    case "modelError":
      return {
        type: "model-failed",
        facts: { errorCategory: errorCategory(stage.error), attempt: stage.attempt, phase: stage.phase },
      };
    case "beforeTool": {
      // A call that was rejected comes to no hook before its end.
      if (context.decision?.approve !== true) return undefined;
      return {
        type: "call-approved",
        facts: callFacts(stage.call.id, stage.call.name),
        content: () => stage.call.arguments,
      };
    }
    case "admitTool": {
      const { callId, toolName, executionId, executedInput } = stage.invocation;
      return {
        type: "call-started",
        facts: { ...callFacts(callId, toolName), executionId },
        content: () => executedInput,
      };
    }
    case "settleTool": {
      const { callId, toolName, executionId, outcome, result, cancellationRequested, startedAt, endedAt } =
        stage.exchange;
      const facts = { executionId, outcome, isError: result.isError, cancellationRequested, startedAt, endedAt };
      return { type: "call-ended", facts: { ...callFacts(callId, toolName), ...facts }, content: () => result };
    }
    case "afterTurn": {
      const { status, rounds, usage, deferred, stopReason } = stage.result;
      const waiting = deferred.map(({ callId, toolName }) => callFacts(callId, toolName));
      return {
        type: "turn-ended",
        facts: { status, rounds, usage, deferred: waiting },
        content: () => ({ stopReason }),
      };
    }
    case "turnError":
      return { type: "turn-failed", facts: { errorCategory: errorCategory(stage.error) } };
    default:
      return undefined;
  }
}

function checkOptions(options: AuditOptions): void {
  checkFields("audit", options, ["sink", "actor", "content", "onFailure", "timeoutMs", "name", "before", "after"]);
  const { sink, actor, content, onFailure = "report", timeoutMs = SINK_MS, name = "audit" } = options;
  const faults = [
    [typeof sink !== "function", "sink is a function; auditFile(path) makes one"],
    [actor !== undefined && typeof actor !== "function", "actor is a function"],
    [content !== undefined && content !== true, "content is true or absent"],
    [!["report", "refuse"].includes(onFailure), 'onFailure is "report" or "refuse"'],
    [!isTimeLimit(timeoutMs) || timeoutMs >= 2 ** 31, "timeoutMs is a number of milliseconds"],
    [typeof name !== "string" || name === "", "name is a text"],
  ] as const;
  const fault = faults.find(([wrong]) => wrong);
  if (fault !== undefined) throw new CompositionError("invalid-config", `audit: ${fault[1]}`);
}
