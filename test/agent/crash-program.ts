import { appendFileSync } from "node:fs";
import { Type } from "@sinclair/typebox";
import { SqliteSessionStore } from "../../src/adapters/sessions/sqlite.js";
import { defineTool } from "../../src/adapters/tools/index.js";
import { Agent } from "../../src/agent/agent.js";
import { AgentError } from "../../src/domain/errors.js";
import type { ModelResponse } from "../../src/domain/model.js";
import type { Revision, SessionDelta } from "../../src/domain/session.js";
import type { StageKind } from "../../src/domain/stage.js";
import type { ToolAnnotations } from "../../src/domain/tool.js";
import type { PipelineHook, StageContext } from "../../src/ports/hook.js";
import type { ModelPort } from "../../src/ports/model.js";
import { stopResponse, toolCallsResponse } from "../../src/testkit/builders.js";

/**
 * A process of its own: begins or resumes a turn on session "s" of a file, and writes each run of a tool to another. At the point it is
 * told of it prints "there" and waits for its death; else it prints as JSON how the turn ended.
 */
const [task = "", point = "", path = "", effects = ""] = process.argv.slice(2);

const forever = (): Promise<never> => new Promise(() => {});

function there(): Promise<never> {
  process.stdout.write("there\n");
  // Nothing else may keep the process alive, and it does not outlive a test that failed.
  setTimeout(() => process.exit(1), 60_000);
  return forever();
}

class Store extends SqliteSessionStore {
  /** Results that are on their way to the store when the process dies. */
  override append(id: string, delta: SessionDelta): Promise<Revision> {
    if (point === "results on their way" && delta.messages.some(({ role }) => role === "tool")) return there();
    return super.append(id, delta);
  }
}

const HANGING: readonly string[] = ["tools running", "call deferred"];
let running = 0;

async function run(name: string, executionId: string): Promise<string> {
  appendFileSync(effects, `${name} ${executionId}\n`);
  running += 1;
  const hangs = HANGING.includes(point) || (point === "one of three finished" && name !== "read");
  if (!hangs) return `${name} done`;
  // A call that waits does not run, nor does one of unknown outcome again.
  const all = task === "begin" && point === "tools running" ? 3 : 2;
  if (point !== "one of three finished" && running === all) return there();
  return forever();
}

const tool = (name: string, annotations: ToolAnnotations) =>
  defineTool({
    name,
    description: `The tool ${name}.`,
    parameters: Type.Object({}),
    annotations,
    execute: (_, { executionId }) => run(name, executionId),
  });

const hookPoints: Readonly<Record<string, StageKind>> = {
  "input stored": "beforeContext",
  "reply stored": "beforeTool",
  "decision taken": "admitTool",
  "results stored": "beforeContinue",
  "before the final event": "afterTurn",
};

const hook: PipelineHook = {
  name: "crash point",
  onStage(stage, context: StageContext) {
    if (hookPoints[point] === stage.kind) return there();
    const waits = stage.kind === "beforeTool" && stage.call.name === "pay" && context.decision === undefined;
    return waits && point === "call deferred" ? context.defer("ask a person") : undefined;
  },
};

const asked = toolCallsResponse(
  { name: "read", id: "c1", arguments: {} },
  { name: "put", id: "c2", arguments: {} },
  { name: "pay", id: "c3", arguments: {} },
);

const model: ModelPort = {
  chat: forever,
  async chatStreaming({ messages }, onChunk): Promise<ModelResponse> {
    if (messages.at(-1)?.role === "tool") return stopResponse("done");
    onChunk({ type: "textDelta", text: "half" });
    if (point === "model streaming") return there();
    onChunk({ type: "reset", reason: "retry" });
    return asked;
  },
};

const store = new Store({ path });
const agent = await Agent.create({
  model,
  tools: [tool("read", { readOnlyHint: true }), tool("put", { idempotentHint: true }), tool("pay", {})],
  hooks: [hook],
  sessions: [store],
});
agent.subscribe(({ type }) => {
  // By then the result of `read` is stored, and the others have begun.
  if (point === "one of three finished" && type === "toolCallResult") void there();
});

const decisions = task === "approve" ? [{ callId: "c3", approve: true as const }] : [];
const turn = task === "begin" ? agent.runTurn("go", "s") : agent.resumeTurn("s", { takeOver: true, decisions });
const ended = await turn.then(
  ({ status, text, deferred, toolResults }) => ({
    status,
    text,
    deferred: deferred.map(({ callId }) => callId),
    results: Object.fromEntries(toolResults.map(({ toolCallId, outcome }) => [toolCallId, outcome])),
  }),
  (error: unknown) => ({ error: AgentError.is(error) ? error.kind : String(error) }),
);
process.stdout.write(`${JSON.stringify(ended)}\n`);
await agent.shutdown();
await store.close();
