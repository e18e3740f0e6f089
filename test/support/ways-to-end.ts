import { Type } from "@sinclair/typebox";
import { defineTool } from "../../src/adapters/tools/index.js";
import type { ModelResponse } from "../../src/domain/model.js";
import type { StageOf } from "../../src/domain/stage.js";
import { okResult, type ToolCall, type ToolExchange } from "../../src/domain/tool.js";
import { UNKNOWN_OUTCOME } from "../../src/domain/transcript.js";
import type { TurnHandle } from "../../src/ports/agent-api.js";
import type { Decision, StageContext } from "../../src/ports/hook.js";
import {
  RecordingToolProvider,
  type TestAgent,
  type TestAgentOptions,
  toolDef,
  toolOutcome,
} from "../../src/testkit/index.js";
import { annotated, approve, askingFor, READ_ONLY, reject } from "./resuming.js";
import { call, hookAt } from "./turns.js";

/** What of an exchange a way to end decides, beside what all have. */
export type Expected = Partial<ToolExchange> & { readonly told: string | RegExp; readonly isError?: boolean };

/** One way in which calls end. */
export type Way = {
  readonly title: string;
  readonly calls?: readonly ToolCall[];
  readonly reply?: Partial<ModelResponse>;
  readonly options?: TestAgentOptions;
  /** Does what happens outside while the turn runs. */
  readonly drive?: (turn: TurnHandle, t: TestAgent) => Promise<void> | void;
  /** The turn continues this session by its decisions instead of asking the model first. */
  readonly decisions?: readonly Decision[];
  readonly expected: readonly Expected[];
};

export const c1 = call("f", "c1", { n: 1 });
export const c2 = call("f", "c2", { n: 2 });
const ran = { outcome: "completed", executedInput: { n: 1 } } as const;
const fine = toolOutcome.ok("fine");
const never = { outcome: "not-started", cancellationRequested: false, isError: true } as const;
const notExecuted = { ...never, told: "The tool call was not executed." };
const atBefore = (act: (stage: StageOf<"beforeTool">, context: StageContext) => unknown, id = "c1") =>
  hookAt("beforeTool", (stage, context) => (stage.call.id === id ? act(stage, context) : undefined));
const interruptWhenStarted = async (turn: TurnHandle, t: TestAgent): Promise<void> => {
  await t.tools.started("c1");
  turn.interrupt();
  t.tools.settle("c1", fine);
};
const abortWhenStarted = (turn: TurnHandle): void => {
  turn.subscribe(({ type }) => {
    if (type === "toolCallStarted") turn.abort("enough");
  });
};
const strict = new RecordingToolProvider({
  validate: () => ({ ok: false, issues: [{ path: "/n", expected: "a text" }] }),
}).add("f", fine);
const one = { config: { maxParallelTools: 1 } };

export const WAYS_TO_END: readonly Way[] = [
  { title: "returns", options: { tools: { f: fine } }, expected: [{ ...ran, told: "fine" }] },
  {
    title: "returns an error",
    options: { tools: { f: toolOutcome.error("no such city") } },
    expected: [{ outcome: "failed", executedInput: { n: 1 }, told: "no such city", isError: true }],
  },
  {
    title: "throws",
    options: { tools: { f: toolOutcome.throws(new Error("broken")) } },
    expected: [
      { outcome: "failed", executedInput: { n: 1 }, told: /broken/, isError: true, cancellationRequested: false },
    ],
  },
  {
    title: "takes too long",
    options: { tools: { f: toolOutcome.hangs({ ignoreAbort: true }) }, config: { toolTimeoutMs: 100 } },
    drive: (_, t) => t.runtime.advance(100),
    expected: [
      {
        outcome: "unknown",
        executedInput: { n: 1 },
        told: /given up after 100 ms/,
        isError: true,
        cancellationRequested: true,
      },
    ],
  },
  {
    title: "is aborted while it runs",
    options: { tools: { f: toolOutcome.hangs() } },
    drive: abortWhenStarted,
    expected: [
      {
        outcome: "unknown",
        executedInput: { n: 1 },
        told: UNKNOWN_OUTCOME,
        isError: true,
        cancellationRequested: true,
      },
    ],
  },
  {
    title: "ignores an abort",
    options: { tools: { f: toolOutcome.hangs({ ignoreAbort: true }) } },
    drive: async (turn, t) => {
      abortWhenStarted(turn);
      await t.runtime.advance(1_000);
    },
    expected: [
      {
        outcome: "unknown",
        executedInput: { n: 1 },
        told: UNKNOWN_OUTCOME,
        isError: true,
        cancellationRequested: true,
      },
    ],
  },
  {
    title: "waits for a place when the turn is aborted",
    calls: [c1, c2],
    options: { tools: { f: toolOutcome.hangs() }, ...one },
    drive: abortWhenStarted,
    expected: [{ outcome: "unknown", executedInput: { n: 1 }, told: UNKNOWN_OUTCOME, isError: true }, notExecuted],
  },
  {
    title: "is blocked by a hook",
    options: { tools: { f: fine }, hooks: [atBefore((_, context) => context.block("not allowed"))] },
    expected: [{ ...never, told: "not allowed" }],
  },
  {
    title: "is answered by a hook",
    options: { tools: { f: fine }, hooks: [atBefore((_, context) => context.answer("from memory"))] },
    expected: [{ ...never, isError: false, told: "from memory" }],
  },
  {
    title: "is refused because a hook failed",
    options: {
      tools: { f: fine },
      hooks: [
        { ...atBefore(() => Promise.reject(new Error("x"))), name: "h", onFailure: { beforeTool: "error-result" } },
      ],
    },
    expected: [{ ...never, told: /The call was refused: hook h failed/ }],
  },
  {
    title: "is rewritten by a hook",
    options: {
      tools: { f: fine },
      hooks: [atBefore(({ call: asked }, context) => context.next({ call: { ...asked, arguments: { n: 3 } } }))],
    },
    expected: [{ outcome: "completed", executedInput: { n: 3 }, told: "fine" }],
  },
  {
    title: "is renamed by a hook",
    options: {
      tools: { f: fine, g: toolOutcome.ok("g was it") },
      hooks: [atBefore(({ call: asked }, context) => context.next({ call: { ...asked, name: "g" } }))],
    },
    expected: [{ outcome: "completed", toolName: "g", executedInput: { n: 1 }, told: "g was it" }],
  },
  {
    title: "has a result that a hook replaced",
    options: {
      tools: { f: fine },
      hooks: [
        hookAt("afterTool", (_, context) =>
          context.patch({ content: [{ type: "text", text: "secret" }], isError: true }),
        ),
      ],
    },
    expected: [{ ...ran, told: "secret", isError: true }],
  },
  {
    title: "threw and was answered at toolError",
    options: {
      tools: { f: toolOutcome.throws(new Error("broken")) },
      hooks: [hookAt("toolError", (_, context) => context.answer("the old value"))],
    },
    expected: [{ outcome: "failed", executedInput: { n: 1 }, told: "the old value" }],
  },
  {
    title: "is skipped because somebody interrupted",
    calls: [c1, c2],
    options: { tools: { f: toolOutcome.held() }, ...one },
    drive: interruptWhenStarted,
    expected: [
      { ...ran, told: "fine" },
      { ...never, told: /was skipped/ },
    ],
  },
  {
    title: "comes after a call at which a hook stopped the turn",
    calls: [c1, c2],
    options: { tools: { f: fine }, hooks: [atBefore((_, context) => context.stop("enough"))] },
    expected: [notExecuted, notExecuted],
  },
  {
    title: "stands in a batch that a hook aborted",
    calls: [c1, c2],
    options: { tools: { f: fine }, hooks: [atBefore((_, context) => context.abort("no"), "c2")] },
    expected: [notExecuted, notExecuted],
  },
  {
    title: "is not admitted",
    calls: [c1, c2],
    options: {
      tools: { f: fine },
      hooks: [
        hookAt("admitTool", ({ invocation }) => {
          if (invocation.callId === "c2") throw new Error("not this one");
        }),
      ],
    },
    expected: [notExecuted, notExecuted],
  },
  {
    title: "is one round of tools too many",
    options: { tools: { f: fine }, config: { maxToolRounds: 0 } },
    expected: [notExecuted],
  },
  {
    title: "is beyond the budget",
    calls: [c1, c2],
    options: { tools: { f: fine }, config: { maxToolCalls: 1 } },
    expected: [
      { ...ran, told: "fine" },
      { ...never, told: /budget for tool calls is used up/ },
    ],
  },
  {
    title: "returns more than the output may hold",
    options: { tools: { f: toolOutcome.ok("x".repeat(5_000)) }, config: { maxOutputBytes: 2_000 } },
    expected: [{ ...ran, told: "The result is withheld: the output limit is reached.", isError: true }],
  },
  {
    title: "names no tool there is",
    options: { tools: { g: fine } },
    expected: [{ ...never, told: /there is no tool named f/ }],
  },
  { title: "has invalid arguments", options: { tools: strict }, expected: [{ ...never, told: /\/n: a text/ }] },
  {
    title: "is malformed",
    calls: [{ ...call("f", "c1"), malformed: { raw: "{", reason: "cut" } }],
    options: { tools: { f: fine } },
    expected: [{ ...never, originalInput: {}, told: /not valid JSON: cut/ }],
  },
  {
    title: "stands in a reply that hit its length limit",
    reply: { finishReason: "length" },
    options: { tools: { f: fine } },
    expected: [{ ...never, told: /output limit was hit/ }],
  },
  {
    title: "is answered by its own hook",
    options: {
      providers: [
        defineTool({
          name: "f",
          description: "f",
          parameters: Type.Object({ n: Type.Integer() }),
          beforeExecute: () => ({ result: okResult("cached") }),
          execute: () => "fine",
        }),
      ],
    },
    expected: [{ ...never, isError: false, told: "cached" }],
  },
  {
    title: "runs alone, being sequential",
    options: { tools: new RecordingToolProvider().add({ ...toolDef("f"), executionMode: "sequential" }, fine) },
    expected: [{ ...ran, executionMode: "sequential", told: "fine" }],
  },
  {
    title: "is blocked, being sequential",
    options: {
      tools: new RecordingToolProvider().add({ ...toolDef("f"), executionMode: "sequential" }, fine),
      hooks: [atBefore((_, context) => context.block("no"))],
    },
    expected: [{ ...never, executionMode: "sequential", told: "no" }],
  },
  {
    title: "was deferred and is approved",
    options: { tools: { f: fine }, hooks: [askingFor()] },
    decisions: [approve("c1")],
    expected: [{ ...ran, told: "fine" }],
  },
  {
    title: "was deferred and is approved with other arguments",
    options: { tools: { f: fine }, hooks: [askingFor()] },
    decisions: [approve("c1", { n: 9 })],
    expected: [{ outcome: "completed", executedInput: { n: 9 }, told: "fine" }],
  },
  {
    title: "was deferred and is rejected",
    options: { tools: { f: fine }, hooks: [askingFor()] },
    decisions: [reject("c1", "too dear")],
    expected: [{ ...never, told: "The call was rejected: too dear" }],
  },
  {
    title: "was left by a crash",
    options: { tools: annotated({ f: {} }) },
    decisions: [],
    expected: [{ ...never, outcome: "unknown", told: UNKNOWN_OUTCOME }],
  },
  {
    title: "was left by a crash and runs again",
    options: { tools: annotated({ f: READ_ONLY }) },
    decisions: [],
    expected: [{ ...ran, told: "f done" }],
  },
];
