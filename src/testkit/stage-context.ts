import { okResult } from "../domain/tool.js";
import type { StageContext } from "../ports/hook.js";
import { testToolContext } from "./tool-context.js";

/** A frozen context to ask a hook outside an agent: steps run at once, there are no commands, what is emitted goes nowhere, and `onSettled` calls nobody. */
export function testStageContext(overrides: Partial<StageContext> = {}): StageContext {
  return Object.freeze({
    turnId: "turn-1",
    sessionId: "session-1",
    round: 1,
    signal: new AbortController().signal,
    messages: [],
    tools: [],
    system: "",
    newMessages: [],
    memory: testToolContext().memory,
    commands: {
      list: () => [],
      invoke: () => Promise.reject(new Error("a test context has no commands")),
      run: () => Promise.resolve(undefined),
    },
    step: (_name, run) => run(),
    emit: () => undefined,
    onSettled: () => undefined,
    next: (patch) => ({ kind: "next", patch }),
    stop: (reason) => ({ kind: "stop", reason }),
    abort: (reason) => ({ kind: "abort", reason }),
    retry: (options) => ({ kind: "retry", compress: options?.compress ?? false }),
    answer: (result) => ({ kind: "answer", result: typeof result === "string" ? okResult(result) : result }),
    block: (reason) => ({ kind: "block", reason }),
    defer: (reason) => ({ kind: "defer", reason }),
    patch: (patch) => ({ kind: "patch", patch }),
    finish: () => ({ kind: "finish" }),
    checkpoint: () => ({ kind: "checkpoint" }),
    cancel: (reason) => ({ kind: "cancel", reason }),
    goOn: (messages = []) => ({ kind: "goOn", messages }),
    wait: (reason = "") => ({ kind: "wait", reason }),
    ...overrides,
  } satisfies StageContext);
}
