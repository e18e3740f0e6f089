import { resolve } from "node:path";
import type { ToolDef, ToolResult } from "ennead";
import { testToolContext } from "ennead/testkit";
import { type McpEvent, McpToolProvider, type McpToolProviderOptions } from "ennead/tools/mcp";
import type { ToolContext } from "../../src/ports/tool-provider.js";

/** What the hostile server does; tools named in its script (`die`, `hang`, `pid`, `log`, `open`, `steps`, `ask`, `hangLists`, ...) act, others answer. */
export type Hostility = {
  readonly tools?: readonly unknown[];
  readonly results?: Readonly<Record<string, unknown>>;
  /** What the first calls of a tool are answered with: `{ result }` or `{ error }` each. */
  readonly inTurn?: Readonly<Record<string, readonly object[]>>;
  /** Speaks the protocol of 2026 alone. */
  readonly modern?: boolean;
  readonly says?: string;
  readonly pages?: "same-cursor" | "endless" | "endless-empty" | "huge" | "one-each" | "no-list" | "null";
  readonly count?: number;
  readonly listError?: number;
  readonly version?: unknown;
  readonly serverInfo?: unknown;
  /** What its answer to the handshake says otherwise. */
  readonly handshake?: object;
  readonly silent?: boolean;
  /** Silent when that file is there, which it is after the first start. */
  readonly silentOnceThere?: string;
  /** `changes`: a tool comes while the first list is on its way. */
  readonly listing?: "changes" | "hangs";
  readonly exitAt?: "start" | "initialize";
  /** What is asked of the user behind the handshake. */
  readonly asksAtStart?: readonly unknown[];
  readonly noise?: boolean;
  readonly stderrBytes?: number;
  readonly lastWords?: string;
  readonly stubborn?: boolean;
  readonly grandchild?: boolean;
  readonly toolless?: boolean;
  /** One a page; `die:` ends the server when it is read, `changed:` tells that the list changed. */
  readonly resources?: unknown;
  readonly templates?: unknown;
  /** What reading an address answers. */
  readonly contents?: Readonly<Record<string, unknown>>;
};

const program = resolve("test/support/hostile-mcp-server.mjs");

/** How to start a server that does so. */
export function hostile(how: Hostility = {}) {
  const protocol = how.modern === true ? ("auto" as const) : undefined;
  return { command: process.execPath, args: [program, JSON.stringify(how)], protocol };
}

/** Tools by name, each with any arguments. */
export const named = (...names: readonly string[]): readonly unknown[] =>
  names.map((name) => ({ name, description: `Does ${name}.`, inputSchema: { type: "object" } }));

/** A provider that is started, and what it told; shut down with the block. */
export type Started = AsyncDisposable & {
  readonly mcp: McpToolProvider;
  readonly events: readonly McpEvent[];
  /** The first event of that type, told already or not. */
  event<T extends McpEvent["type"]>(type: T): Promise<McpEvent & { readonly type: T }>;
  names(): Promise<readonly string[]>;
  list(): Promise<readonly ToolDef[]>;
  call(name: string, args?: object, context?: Partial<ToolContext>): Promise<ToolResult>;
  /** The text of the result, or the message of what was thrown. */
  text(name: string, args?: object, context?: Partial<ToolContext>): Promise<string>;
};

export async function started(options: McpToolProviderOptions): Promise<Started> {
  const events: McpEvent[] = [];
  let heard = Promise.withResolvers<void>();
  const mcp = new McpToolProvider({
    ...options,
    onEvent: (event) => {
      events.push(event);
      heard.resolve();
      heard = Promise.withResolvers();
    },
  });
  await mcp.onStart();
  let calls = 0;
  const call: Started["call"] = async (name, args = {}, context = {}) =>
    mcp.execute({ id: `c${(calls += 1)}`, name, arguments: args as never }, testToolContext(context));
  const list = async () => mcp.listTools({ signal: new AbortController().signal });
  return {
    mcp,
    events,
    list,
    event: async <T extends McpEvent["type"]>(type: T) => {
      for (;;) {
        const found = events.find((event): event is McpEvent & { readonly type: T } => event.type === type);
        if (found !== undefined) return found;
        await heard.promise;
      }
    },
    names: async () => (await list()).map(({ name }) => name),
    call,
    text: async (name, args, context) => {
      try {
        return textOf(await call(name, args, context));
      } catch (error) {
        return error instanceof Error ? error.message : String(error);
      }
    },
    [Symbol.asyncDispose]: async () => mcp.onShutdown(),
  };
}

export function textOf(result: ToolResult): string {
  return result.content.map((part) => (part.type === "text" ? part.text : `<${part.type}>`)).join("");
}

/** Whether a process of that id runs; one that has ended and was not waited for does not. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
