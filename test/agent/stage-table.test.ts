import { describe, expect, test } from "vitest";
import { ModelError } from "../../src/domain/errors.js";
import { STAGE_KINDS, STAGE_OUTCOMES, type OutcomeKind, type StageKind } from "../../src/domain/stage.js";
import {
  modelStep,
  stopResponse,
  testAgent,
  type TestAgent,
  type TestAgentOptions,
  toolCallResponse,
  toolOutcome,
} from "../../src/testkit/index.js";
import { expectLawful, hookAt, never, rejectionOf, terminals } from "../support/turns.js";

/** A turn that comes past the stage: one call, or for error stages one that fails. */
function scene(kind: StageKind): TestAgentOptions {
  const failing = modelStep.fail(new ModelError("auth", "no key"));
  if (kind === "modelError" || kind === "turnError") return { script: [failing] };
  if (kind === "beforeSteering") return { script: [stopResponse("done")] };
  if (kind === "toolError")
    return { script: [toolCallResponse("f", "c1"), stopResponse("done")], tools: { f: toolOutcome.throws("bad") } };
  return { script: [toolCallResponse("f", "c1"), stopResponse("done")], tools: { f: toolOutcome.ok("real") } };
}

/** What a throw means at each stage, from the table. */
const THROW: { readonly [K in StageKind]: "aborts" | "fails" | "secondary" } = {
  beforeTurn: "aborts",
  beforeTools: "aborts",
  chooseTools: "aborts",
  beforeSteering: "aborts",
  beforeContext: "aborts",
  beforeModel: "aborts",
  afterModel: "secondary",
  modelError: "secondary",
  beforeTool: "aborts",
  admitTool: "fails",
  toolError: "secondary",
  afterTool: "secondary",
  settleTool: "fails",
  beforeContinue: "aborts",
  beforeEnd: "aborts",
  afterTurn: "secondary",
  turnError: "secondary",
};

/** A turn past the stage; something is said into it before it looks. */
function past(t: TestAgent, kind: StageKind): Promise<unknown> {
  const turn = t.agent.startTurn("hi", "s");
  if (kind === "beforeSteering") turn.steer("and now?");
  return turn.result;
}

/** Checks that the turn ended as a throw at this stage says; `settled` is how it settled. */
async function expectThrown(t: TestAgent, kind: StageKind, turn: Promise<unknown>): Promise<void> {
  const failsAnyway = kind === "modelError" || kind === "turnError";
  if (THROW[kind] === "secondary") {
    if (failsAnyway) expect((await rejectionOf(turn)).kind).toBe("model");
    else expect(await turn).toMatchObject({ status: "completed", text: "done" });
    expect(t.observer.ofType("custom")).toMatchObject([
      { source: "ennead.core", label: "secondary_failure", data: { stage: kind } },
      ...(kind === "afterModel" ? [{}] : []),
    ]);
  } else {
    const error = await rejectionOf(turn);
    expect(error.kind).toBe(THROW[kind] === "aborts" ? "hook-aborted" : "runtime");
    expect(error.partial).toBeDefined();
  }
  const failed = THROW[kind] !== "secondary" || failsAnyway;
  expect(terminals(t.observer.events)).toEqual(kind === "beforeTurn" ? [] : [failed ? "turnFailed" : "turnCompleted"]);
  await expectLawful(t, "s");
}

const hostile: readonly (readonly [string, () => unknown])[] = [
  [
    "throws an error",
    () => {
      throw new Error("secret of the hook");
    },
  ], // prettier
  [
    "throws undefined",
    () => {
      throw undefined;
    },
  ], // prettier
  ["rejects", () => Promise.reject(new Error("secret of the hook"))],
  ["returns no outcome but text", () => "stop"],
  ["returns an outcome nobody knows", () => ({ kind: "explode" })],
  ["returns an outcome of another prototype", () => ({ kind: "__proto__" })],
];

describe.each(STAGE_KINDS)("at %s", (kind) => {
  test.each(hostile)(`a hook that %s ends the turn as the table says: ${THROW[kind]}`, async (_, onStage) => {
    await using t = await testAgent({ ...scene(kind), hooks: [hookAt(kind, onStage)] });
    await expectThrown(t, kind, past(t, kind));
    expect(JSON.stringify(t.observer.events)).not.toContain("secret of the hook");
  });

  test("a hook that never settles counts as a throw after hookTimeoutMs (A4)", async () => {
    const hook = hookAt(kind, never);
    await using t = await testAgent({ ...scene(kind), hooks: [hook], config: { hookTimeoutMs: 50 } });
    const result = past(t, kind);
    await t.runtime.advance(200);
    await expectThrown(t, kind, result);
  });
});

const OUTCOMES: { readonly [O in OutcomeKind]: object } = {
  next: { kind: "next", patch: {} },
  stop: { kind: "stop", reason: "told" },
  abort: { kind: "abort", reason: "told" },
  retry: { kind: "retry", compress: false },
  answer: { kind: "answer", result: { content: [], isError: false } },
  block: { kind: "block", reason: "told" },
  defer: { kind: "defer", reason: "told" },
  patch: { kind: "patch", patch: {} },
  finish: { kind: "finish" },
  checkpoint: { kind: "checkpoint" },
  cancel: { kind: "cancel", reason: "told" },
  goOn: { kind: "goOn", messages: [] },
  wait: { kind: "wait", reason: "told" },
};

const forbidden = STAGE_KINDS.flatMap((kind) =>
  (Object.keys(OUTCOMES) as OutcomeKind[])
    .filter((outcome) => !(STAGE_OUTCOMES[kind] as readonly OutcomeKind[]).includes(outcome))
    .map((outcome) => [kind, outcome] as const),
);

test.each(forbidden)("%s does not allow %s: it counts as a throw", async (kind, outcome) => {
  await using t = await testAgent({ ...scene(kind), hooks: [hookAt(kind, () => OUTCOMES[outcome])] });
  await expectThrown(t, kind, past(t, kind));
});

const halves: readonly (readonly [StageKind, object])[] = [
  ["beforeTurn", { kind: "stop" }],
  ["beforeModel", { kind: "next" }],
  ["beforeModel", { kind: "next", patch: { options: { temperature: Number.NaN } } }],
  ["beforeSteering", { kind: "next", patch: { input: [] } }],
  ["beforeSteering", { kind: "next", patch: { input: [{ role: "assistant", parts: [] }] } }],
  ["beforeContext", { kind: "next", patch: { messages: [{ role: "user" }] } }],
  ["beforeTool", { kind: "block" }],
  ["beforeTool", { kind: "abort", reason: 7 }],
  ["beforeTool", { kind: "next", patch: { call: { id: "other", name: "f", arguments: {} } } }],
  ["afterModel", { kind: "next", patch: { response: { parts: "none" } } }],
  ["beforeContinue", { kind: "cancel", reason: null }],
  ["beforeEnd", { kind: "goOn" }],
  ["beforeEnd", { kind: "goOn", messages: [{ role: "user", content: 7 }] }],
  ["beforeEnd", { kind: "goOn", messages: [{ role: "assistant", parts: [{ type: "text", text: "me again" }] }] }],
  ["beforeEnd", { kind: "goOn", messages: [{ role: "tool", toolCallId: "c9", content: [] }] }],
];

test.each(halves)("an outcome at %s that is not whole, %j, counts as a throw", async (kind, outcome) => {
  await using t = await testAgent({ ...scene(kind), hooks: [hookAt(kind, () => outcome)] });
  await expectThrown(t, kind, past(t, kind));
});
