import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, test } from "vitest";
import { approval } from "../../../src/adapters/hooks/approval.js";
import { audit, auditFile, type AuditOptions, type AuditRecord } from "../../../src/adapters/hooks/audit.js";
import { CompositionError, ModelError } from "../../../src/domain/errors.js";
import {
  modelStep,
  pipelineHookClaims,
  runClaims,
  stopResponse,
  testAgent,
  toolCallResponse,
  toolOutcome,
} from "../../../src/testkit/index.js";

const script = () => [toolCallResponse("look", "c1", { key: "secret words" }), stopResponse("secret words")];
const tools = { look: toolOutcome.ok("secret words") };

function kept(options: Partial<AuditOptions> = {}) {
  const records: AuditRecord[] = [];
  return { records, hook: audit({ sink: (record) => void records.push(record), ...options }) };
}

describe("audit", () => {
  runClaims({
    test,
    claims: pipelineHookClaims,
    make: () => ({ hook: kept().hook }),
    capabilities: {
      acts: { missing: "it only watches" },
      defers: { missing: "it only watches" },
      abort: { missing: "it waits for its sink within its own time" },
    },
  });

  it("records a turn, its replies and its calls in order, without a word of what was said", async () => {
    const { records, hook } = kept({ actor: ({ sessionId }) => `user of ${sessionId}` });
    await using t = await testAgent({ script: script(), tools, hooks: [hook] });
    const { turnId } = await t.agent.runTurn("secret words", "s");
    expect(records.map(({ type }) => type)).toEqual([
      "turn-began",
      "model-replied",
      "call-started",
      "call-ended",
      "model-replied",
      "turn-ended",
    ]);
    for (const record of records) expect(record).toMatchObject({ turnId, sessionId: "s", actor: "user of s" });
    expect(records[2]?.facts).toMatchObject({ callId: "c1", tool: "look" });
    expect(records[3]?.facts).toMatchObject({ callId: "c1", tool: "look", outcome: "completed", isError: false });
    expect(records[5]?.facts).toMatchObject({ status: "completed", rounds: 2 });
    expect(JSON.stringify(records)).not.toContain("secret words");
  });

  it("records what was said where that is asked for", async () => {
    const { records, hook } = kept({ content: true });
    await using t = await testAgent({ script: script(), tools, hooks: [hook] });
    await t.agent.runTurn("secret words", "s");
    for (const { type, content } of records.slice(0, -1))
      expect(JSON.stringify(content), type).toContain("secret words");
  });

  it("records calls that wait, approvals, and calls that did not run", async () => {
    for (const approve of [true, false]) {
      const { records, hook } = kept();
      await using t = await testAgent({ script: script(), tools, hooks: [hook, approval({ tools: ["look"] })] });
      await t.agent.runTurn("hi", "s");
      expect(records.at(-1)).toMatchObject({
        type: "turn-ended",
        facts: { status: "deferred", deferred: [{ callId: "c1", tool: "look" }] },
      });
      const decision = approve ? ({ approve } as const) : ({ approve, reason: "secret words" } as const);
      await t.agent.resumeTurn("s", { decisions: [{ callId: "c1", ...decision }] });
      const later = records
        .filter(({ type }) => type.startsWith("call"))
        .map(({ type, facts }) => [type, facts["outcome"]]);
      const ended = ["call-ended", approve ? "completed" : "not-started"];
      expect(later).toEqual(approve ? [["call-approved", undefined], ["call-started", undefined], ended] : [ended]);
      expect(JSON.stringify(records)).not.toContain("secret words");
    }
  });

  it("records failures of models and turns by their kind alone", async () => {
    const { records, hook } = kept();
    const failing = modelStep.fail(new ModelError("server", "secret words"));
    await using t = await testAgent({ script: [failing], hooks: [hook] });
    await expect(t.agent.runTurn("hi", "s")).rejects.toThrow();
    expect(records.slice(1).map(({ type, facts }) => [type, facts["errorCategory"]])).toEqual([
      ["model-failed", "ModelError(server)"],
      ["turn-failed", "AgentError(model)"],
    ]);
    expect(JSON.stringify(records)).not.toContain("secret words");
  });

  it.each<[string, AuditOptions["sink"]]>([
    [
      "throws",
      () => {
        throw new Error("secret words");
      },
    ],
    ["rejects", () => Promise.reject(new Error("secret words"))],
    ["hangs", () => new Promise(() => {})],
  ])(
    "goes on where the sink %s, and tells of it; with refuse nothing begins without a record",
    async (_title, sink) => {
      await using t = await testAgent({ script: script(), tools, hooks: [audit({ sink, timeoutMs: 10 })] });
      expect((await t.agent.runTurn("hi", "s")).status).toBe("completed");
      const told = t.observer.events.filter((event) => event.type === "custom" && event.label === "audit-failed");
      expect(told.length).toBeGreaterThanOrEqual(5);
      expect(JSON.stringify(told)).not.toContain("secret words");
      await using strict = await testAgent({
        script: script(),
        tools,
        hooks: [audit({ sink, timeoutMs: 10, onFailure: "refuse" })],
      });
      await expect(strict.agent.runTurn("hi", "s")).rejects.toMatchObject({ kind: "hook-aborted" });
      expect(strict.model.callCount).toBe(0);
    },
  );

  it("with refuse runs no call whose start cannot be recorded", async () => {
    const sink: AuditOptions["sink"] = ({ type }) => {
      if (type === "call-started") throw new Error("the disk is full");
    };
    await using t = await testAgent({ script: script(), tools, hooks: [audit({ sink, onFailure: "refuse" })] });
    await expect(t.agent.runTurn("hi", "s")).rejects.toThrow();
    expect(t.tools.execRecords).toEqual([]);
  });

  it.each([
    undefined,
    {},
    { sink: "file" },
    { sink: () => {}, onFailure: "stop" },
    { sink: () => {}, content: false },
    { sink: () => {}, path: "a" },
  ])("refuses the options %j", (options) => {
    expect(() => audit(options as never)).toThrow(CompositionError);
  });
});

describe("auditFile", () => {
  const record = (n: number, text = ""): AuditRecord => ({
    at: n,
    type: "turn-began",
    turnId: `t${n}`,
    sessionId: text,
    round: 0,
    facts: { n },
  });

  it("keeps large records whole where several add to one file at once", async () => {
    const directory = mkdtempSync(join(tmpdir(), "ennead-audit-"));
    const path = join(directory, "audit.jsonl");
    try {
      const sinks = ["a", "b"].map((name) => ({ sink: auditFile(path), text: name.repeat(1_500_000) }));
      await Promise.all(sinks.flatMap(({ sink, text }) => [0, 1, 2, 3].map((n) => sink(record(n, text)))));
      const read = readFileSync(path, "utf8").trimEnd().split("\n");
      expect(read.map((line) => (JSON.parse(line) as AuditRecord).sessionId.length)).toEqual(Array(8).fill(1_500_000));
    } finally {
      rmSync(directory, { recursive: true });
    }
  });

  it("adds one line a record, in order, whatever is in it, to a file of its owner's alone", async () => {
    const directory = mkdtempSync(join(tmpdir(), "ennead-audit-"));
    const path = join(directory, "audit.jsonl");
    try {
      const sinks = [auditFile(path), auditFile(path)] as const;
      const hostile = 'line\nend\r\u2028{"at":1}\u0000\ud800';
      await Promise.all(Array.from({ length: 40 }, (_, n) => sinks[(n % 2) as 0 | 1](record(n, hostile))));
      const lines = readFileSync(path, "utf8").split("\n");
      expect(lines.pop()).toBe("");
      const read = lines.map((line) => JSON.parse(line) as AuditRecord);
      for (const own of [0, 1]) {
        const order = read.map(({ at }) => at).filter((at) => at % 2 === own);
        expect(order).toEqual(Array.from({ length: 20 }, (_, n) => 2 * n + own));
      }
      expect(read.every(({ sessionId }) => sessionId === hostile)).toBe(true);
      expect(statSync(path).mode & 0o777).toBe(0o600);
    } finally {
      rmSync(directory, { recursive: true });
    }
  });

  it("rejects what cannot be written, and goes on with the next", async () => {
    const directory = mkdtempSync(join(tmpdir(), "ennead-audit-"));
    try {
      const sink = auditFile(directory);
      await expect(sink(record(1))).rejects.toThrow(/EISDIR/);
      await expect(sink(record(2))).rejects.toThrow(/EISDIR/);
    } finally {
      rmSync(directory, { recursive: true });
    }
  });
});
