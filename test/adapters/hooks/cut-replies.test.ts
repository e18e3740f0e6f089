import { describe, expect, it } from "vitest";
import { audit, type AuditRecord } from "../../../src/adapters/hooks/audit.js";
import { defineHook } from "../../../src/adapters/hooks/define-hook.js";
import { guardrail, type GuardrailOptions } from "../../../src/adapters/hooks/guardrail.js";
import { hookChain } from "../../../src/adapters/hooks/hook-chain.js";
import { redact } from "../../../src/adapters/hooks/redact.js";
import { ModelError } from "../../../src/domain/errors.js";
import { isMessage, textOf } from "../../../src/domain/message.js";
import type { PipelineHook } from "../../../src/ports/hook.js";
import { modelStep, stopResponse, testAgent, type TestAgent, textStream } from "../../../src/testkit/index.js";
import { never, rejectionOf } from "../../support/turns.js";

const SECRET = "sk-12345678";
const spoken = textStream(`the key is ${SECRET}`, 6).slice(0, -1);
const failing = modelStep.fail(new ModelError("transport", "lost"), spoken);
const hanging = modelStep.hang(spoken);
const stopped = ["aborted", "interrupted", "error"] as const;
type Stopped = (typeof stopped)[number];

const agentOf = (by: Stopped, ...hooks: readonly PipelineHook[]): Promise<TestAgent> =>
  testAgent({ script: [by === "error" ? failing : hanging, stopResponse("back")], hooks });

/** A turn whose reply is cut short, and one after it: the last thing said in the first, and all that is kept or sent of it. */
async function cutShort(t: TestAgent, by: Stopped): Promise<{ readonly said: string; readonly kept: string }> {
  const turn = t.agent.startTurn("hi", "s");
  await t.runtime.advance(0);
  if (by !== "error") turn[by === "aborted" ? "abort" : "interrupt"]();
  await t.runtime.advance(1_000);
  const told = by === "error" ? (await rejectionOf(turn.result)).partial : await turn.result;
  const said = (await t.agent.session("s")).messages.filter(isMessage).at(-1);
  await t.agent.runTurn("and?", "s");
  const events = t.observer.events.filter(({ type }) => type !== "streamChunk");
  const kept = JSON.stringify([told, events, await t.agent.session("s"), t.model.requests.at(-1)?.messages]);
  return { said: said === undefined ? "" : textOf(said), kept };
}

describe.each(stopped)("of a reply that was %s", (by) => {
  it("redact keeps what it finds out of session, result, events and later requests", async () => {
    const hook = redact({ secrets: [SECRET], places: ["reply"] });
    await using t = await agentOf(by, hook);
    const { said, kept } = await cutShort(t, by);
    expect(said).toBe("the key is [redacted secret]");
    expect(kept).not.toContain(SECRET);
  });

  it("redact keeps nothing that it cannot look through", async () => {
    const vault = () => {
      throw new Error("the vault is closed");
    };
    await using t = await agentOf(by, redact({ secrets: vault, places: ["reply"] }));
    const { said, kept } = await cutShort(t, by);
    expect(said).toBe("[blocked: it could not be redacted]");
    expect(kept).not.toContain(SECRET);
  });

  const verdicts: [string, NonNullable<GuardrailOptions["output"]>, string][] = [
    ["passes", () => undefined, `the key is ${SECRET}`],
    ["replaces", async (text) => ({ replace: text.replace(SECRET, "mine") }), "the key is mine"],
    ["blocks", () => ({ block: "a key" }), "[blocked: a key]"],
    ["stops", () => ({ stop: "a key" }), "[blocked: a key]"],
    ["throws at", () => Promise.reject(new Error("no")), "[blocked: it could not be checked]"],
  ];
  it.each(verdicts)("guardrail keeps what its check leaves, where it %s the text", async (_, output, expected) => {
    await using t = await agentOf(by, guardrail({ output, timeoutMs: 300 }));
    const { said, kept } = await cutShort(t, by);
    expect(said).toBe(expected);
    if (!expected.includes(SECRET)) expect(kept).not.toContain(SECRET);
  });

  it("guardrail keeps nothing whose check gives no answer in time", async () => {
    await using t = await agentOf(by, guardrail({ output: never, timeoutMs: 50 }));
    const { said, kept } = await cutShort(t, by);
    // The time of an abort is the agent's.
    expect(said).toMatch(by === "aborted" ? /^\[(withheld|blocked): / : /^\[blocked: it could not be checked\]$/);
    expect(kept).not.toContain(SECRET);
  });

  it("audit tells that it was cut short, and by what", async () => {
    const records: AuditRecord[] = [];
    const hook = audit({ sink: (record) => void records.push(record), content: true });
    await using t = await agentOf(by, hook, redact({ secrets: [SECRET] }));
    await cutShort(t, by);
    const [record] = records.filter(({ type }) => type === "model-stopped");
    expect(record?.facts).toEqual({ stopped: by });
    expect(JSON.stringify(records)).toContain("the key is [redacted secret]");
    expect(JSON.stringify(records)).not.toContain(SECRET);
  });

  it.each([
    ["hangs", never],
    ["throws", () => Promise.reject(new Error("no"))],
  ])("a chain keeps its redact's promise where another of its hooks %s", async (how, afterModel) => {
    const chain = hookChain("chain", [
      defineHook("other", { afterModel: (stage) => (stage.stopped === undefined ? undefined : afterModel()) }),
      defineHook("redact", { ...redactAsDefinition(), timeoutMs: 500 }),
    ]);
    await using t = await agentOf(by, chain);
    const { said, kept } = await cutShort(t, by);
    expect(said).toBe(how === "hangs" ? "[withheld: hook chain failed at afterModel]" : "the key is [redacted secret]");
    expect(kept).not.toContain(SECRET);
  });
});

/** `redact` asked in the middle of a chain, with what it wants where it fails. */
function redactAsDefinition() {
  const { onFailure, onStage } = redact({ secrets: [SECRET], places: ["reply"] });
  return { onFailure, afterModel: onStage as never };
}
