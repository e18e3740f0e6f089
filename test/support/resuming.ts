import { Type } from "@sinclair/typebox";
import { MemorySessionStore } from "../../src/adapters/sessions/memory.js";
import { SqliteSessionStore } from "../../src/adapters/sessions/sqlite.js";
import { type DefinedTool, defineTool } from "../../src/adapters/tools/index.js";
import type { JsonObject } from "../../src/domain/json.js";
import type { AgentMessage } from "../../src/domain/message.js";
import { type DeferredCall, type Session, SESSION_KEYS } from "../../src/domain/session.js";
import type { ToolAnnotations } from "../../src/domain/tool.js";
import type { Decision, PipelineHook } from "../../src/ports/hook.js";
import type { SessionStore } from "../../src/ports/session-store.js";
import {
  RecordingSessionStore,
  RecordingToolProvider,
  stopResponse,
  type TestAgent,
  testAgent,
  type TestAgentOptions,
  testRuntime,
  toolDef,
  toolOutcome,
} from "../../src/testkit/index.js";
import { temporaryDirectory } from "../adapters/sessions/sqlite-fixture.js";
import { callsOf, hookAt } from "./turns.js";

export const READ_ONLY: ToolAnnotations = { readOnlyHint: true };
export const IDEMPOTENT: ToolAnnotations = { idempotentHint: true };

/** Puts off calls of these ids, or all, until somebody decided. */
export const askingFor = (...ids: readonly string[]): PipelineHook =>
  hookAt(
    "beforeTool",
    ({ call }, context) => {
      if (context.decision !== undefined || (ids.length > 0 && !ids.includes(call.id))) return undefined;
      return context.defer("ask a person");
    },
    "asking",
  );

export const approve = (callId: string, args?: JsonObject): Decision =>
  args === undefined ? { callId, approve: true } : { callId, approve: true, arguments: args };

export const reject = (callId: string, reason = "too dear"): Decision => ({ callId, approve: false, reason });

/** The calls that a stored session says are pending. */
export const pendingIn = ({ metadata }: Pick<Session, "metadata">): string[] =>
  ((metadata[SESSION_KEYS.deferred] ?? []) as readonly DeferredCall[]).map(({ callId }) => callId);

/** A recording provider of tools that each return their own name; `trusted` says whether their annotations count. */
export function annotated(
  tools: Readonly<Record<string, ToolAnnotations>>,
  options: { readonly trusted?: boolean } = {},
): RecordingToolProvider {
  const provider = new RecordingToolProvider({ name: "tools", trustAnnotations: options.trusted ?? true });
  for (const [name, annotations] of Object.entries(tools)) {
    provider.add({ ...toolDef(name), annotations }, toolOutcome.ok(`${name} done`));
  }
  return provider;
}

/** Which calls ran, in order of start. */
export const ran = (t: Pick<TestAgent, "tools">): string[] => t.tools.execRecords.map(({ callId }) => callId);

/** A tool that pays, and notes what it paid; its arguments have a default. */
export function payTool(paid: JsonObject[]): DefinedTool {
  return defineTool({
    name: "pay",
    description: "Pays.",
    parameters: Type.Object({ to: Type.String(), amount: Type.Integer({ default: 5 }) }),
    execute: (args) => {
      paid.push({ ...args });
      return `paid ${args.amount} to ${args.to}`;
    },
  });
}

/** A place for sessions, and a store on it as another process would open it. */
export type Stores = Disposable & { open(): SessionStore };

export function memoryStores(): Stores {
  const store = new MemorySessionStore();
  return { open: () => store, [Symbol.dispose]: () => undefined };
}

export function sqliteStores(): Stores {
  const directory = temporaryDirectory();
  const opened: SqliteSessionStore[] = [];
  return {
    open: () => {
      const store = new SqliteSessionStore({ path: `${directory.path}/sessions.db` });
      opened.push(store);
      return store;
    },
    [Symbol.dispose]: () => {
      for (const store of opened) void store.close();
      directory[Symbol.dispose]();
    },
  };
}

export const STORES: readonly (readonly [string, () => Stores])[] = [
  ["in memory", memoryStores],
  ["in SQLite", sqliteStores],
];

/** A tool `f` that does well. */
export const FINE = { f: toolOutcome.ok("fine") };

/** Two agents on one store: the first has deferred these calls of its three, the second is another process's. */
export async function deferred(ids: readonly string[], options: TestAgentOptions = {}) {
  const store = new RecordingSessionStore();
  const shared = { tools: FINE, sessions: [store], runtime: testRuntime(), hooks: [askingFor(...ids)] };
  const a = await testAgent({ script: [callsOf("f", "f", "f")], ...shared });
  const b = await testAgent({ script: [stopResponse("done")], ...shared, ...options });
  const first = await a.agent.runTurn("go", "s");
  const dispose = async (): Promise<void> => {
    await a[Symbol.asyncDispose]();
    await b[Symbol.asyncDispose]();
  };
  return { a, b, store, first, [Symbol.asyncDispose]: dispose };
}

/** An agent whose session "s" holds these messages. */
export async function holding(messages: readonly AgentMessage[], options: TestAgentOptions = {}) {
  const t = await testAgent({ script: [stopResponse("done")], ...options });
  t.sessions.seed("s", { messages });
  return t;
}
