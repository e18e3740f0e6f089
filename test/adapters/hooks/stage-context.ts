import type { JsonObject } from "../../../src/domain/json.js";
import { okResult } from "../../../src/domain/tool.js";
import type { StageContext } from "../../../src/ports/hook.js";
import { testToolContext } from "../../../src/testkit/index.js";

/** A frozen context outside an agent; `emitted` and `steps` record what hooks did through it. */
export type TestStageContext = StageContext & { readonly emitted: JsonObject[]; readonly steps: string[] };

export function testStageContext(overrides: Partial<StageContext> = {}): TestStageContext {
  const emitted: JsonObject[] = [];
  const steps: string[] = [];
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
      invoke: () => Promise.reject(new Error("none")),
      run: () => Promise.resolve(undefined),
    },
    step: (name, run) => {
      steps.push(name);
      return run();
    },
    emit: (label, data) => void emitted.push({ label, ...data }),
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
    emitted,
    steps,
  } satisfies TestStageContext);
}
