import type { ModelResponse } from "../../src/domain/model.js";
import { STAGE_KINDS } from "../../src/domain/stage.js";
import { Agent } from "../../src/agent/agent.js";
import type { ChatRequest, ChunkListener, ModelPort } from "../../src/ports/model.js";
import type { SessionStore } from "../../src/ports/session-store.js";
import type { ToolProvider } from "../../src/ports/tool-provider.js";
import {
  RecordingObserver,
  RecordingSessionStore,
  stopResponse,
  testRuntime,
  type TestRuntime,
  toolCallsResponse,
  toolDef,
} from "../../src/testkit/index.js";
import { call, hookAt, never } from "./turns.js";

/** Passes through, unless this is the pass that was chosen to hang. */
type Gate = (where: string) => Promise<void>;

/** An agent whose every port takes its time, and of which one call, the `hangs`-th, never settles and hears no signal. */
export type SlowAgent = {
  readonly agent: Agent;
  readonly runtime: TestRuntime;
  readonly store: RecordingSessionStore;
  readonly observer: RecordingObserver;
  /** The calls of ports so far, by name. */
  readonly passed: readonly string[];
  /** Names of tools in the order they were run. */
  readonly ran: readonly string[];
  /** From now on no call hangs. */
  relent(): void;
};

/** A turn of two rounds with three tools in two waves goes through every stage, every port, and more than one write. */
export async function slowAgent(hangs = -1): Promise<SlowAgent> {
  const passed: string[] = [];
  const ran: string[] = [];
  let hanging = -1;
  const gate: Gate = async (where) => {
    passed.push(where);
    if (passed.length - 1 === hanging) await never();
    await Promise.resolve();
  };
  const runtime = testRuntime();
  const store = new RecordingSessionStore();
  const observer = new RecordingObserver();
  const agent = await Agent.create({
    model: slowModel(gate),
    tools: [slowTools(gate, ran)],
    hooks: [hookAt(STAGE_KINDS, ({ kind }) => gate(`hook ${kind}`), "slow")],
    compressors: [{ name: "slow", compress: async () => (await gate("compress"), { type: "none" }) }],
    sessions: [slowStore(gate, store)],
    observers: [observer],
    config: { system: async () => (await gate("system"), "be slow"), onSecondaryFailure: () => undefined },
    runtime,
  });
  passed.length = 0;
  hanging = hangs;
  return { agent, runtime, store, observer, passed, ran, relent: () => (hanging = -1) };
}

const FIRST = toolCallsResponse(call("a", "c1"), call("b", "c2"), call("alone", "c3"));

function slowModel(gate: Gate): ModelPort {
  const replyTo = (messages: ChatRequest["messages"]): ModelResponse =>
    messages.at(-1)?.role === "tool" ? stopResponse("all done") : FIRST;
  const chatStreaming = async ({ messages, signal }: ChatRequest, onChunk: ChunkListener): Promise<ModelResponse> => {
    await gate("model");
    for (const text of ["half ", "a ", "word"]) {
      onChunk({ type: "textDelta", text });
      await Promise.resolve();
      signal.throwIfAborted();
    }
    await gate("model end");
    const reply = replyTo(messages);
    return { ...reply, parts: [{ type: "text", text: "half a word" }, ...reply.parts] };
  };
  return { chat: (request) => chatStreaming(request, () => undefined), chatStreaming };
}

function slowTools(gate: Gate, ran: string[]): ToolProvider {
  const defs = [toolDef("a"), toolDef("b"), { ...toolDef("alone"), executionMode: "sequential" as const }];
  return {
    name: "slow",
    listTools: async () => (await gate("list"), defs),
    execute: async ({ name }) => {
      ran.push(name);
      await gate(`tool ${name}`);
      return `${name} ran`;
    },
  };
}

function slowStore(gate: Gate, store: RecordingSessionStore): SessionStore {
  return {
    load: async (id, known) => (await gate("load"), store.load(id, known)),
    append: async (id, delta) => (await gate("append"), store.append(id, delta)),
    save: async (id, session, options) => (await gate("save"), store.save(id, session, options)),
  };
}
