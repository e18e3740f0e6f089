import { toolHints } from "../../domain/tool-hints.js";
import type { AgentMessage } from "../../domain/message.js";
import type { SaveOptions, Session, SessionDelta } from "../../domain/session.js";
import type { SessionStore } from "../../ports/session-store.js";
import type { ToolContext, ToolProvider } from "../../ports/tool-provider.js";
import type { ToolCall, ToolDef } from "../../domain/tool.js";
import { faced } from "../faced.js";

/** A tool that was run. `repeatable`: declared as read-only or idempotent by a provider that is trusted. */
export type ToolRun = {
  readonly life: number;
  readonly toolName: string;
  readonly callId: string;
  readonly executionId: string;
  /** The step it ran in. */
  readonly step: string;
  readonly effect: string;
  readonly repeatable: boolean;
};

/** What was seen of the world outside the agent: which tools ran, and what the authority said it had taken. */
export class Witness {
  readonly runs: ToolRun[] = [];
  /** By session and message id, the messages as they were taken. */
  readonly stored = new Map<string, Map<string, AgentMessage>>();

  /** A provider whose runs are noted. */
  tools(provider: ToolProvider, life: number): ToolProvider {
    const defs = new Map<string, ToolDef>();
    const listTools: ToolProvider["listTools"] = async (context) => {
      const listed = await provider.listTools(context);
      for (const def of listed) defs.set(def.name, def);
      return listed;
    };
    const execute = (call: ToolCall, context: ToolContext): unknown => {
      const def = defs.get(call.name);
      const trusted = provider.trustAnnotations === true;
      this.#ran(life, call, context, def !== undefined && toolHints(def, { trusted }).idempotent);
      return provider.execute(call, context);
    };
    return faced(provider, (key) => {
      if (key === "listTools") return { value: listTools };
      return key === "execute" ? { value: execute } : undefined;
    });
  }

  /** A store whose writes are noted when it answered; not those that `isStopped` came before. */
  store(store: SessionStore, isStopped: () => boolean): SessionStore {
    const note = async <T>(id: string, given: Pick<Session, "messages">, write: () => Promise<T>): Promise<T> => {
      const messages = [...given.messages];
      const answer = await write();
      if (!isStopped()) this.#took(id, messages);
      return answer;
    };
    const append = store.append?.bind(store);
    return faced(store, (key) => {
      if (key === "append" && append !== undefined)
        return { value: (id: string, delta: SessionDelta) => note(id, delta, () => append(id, delta)) };
      if (key !== "save") return undefined;
      return {
        value: (id: string, session: Session, options?: SaveOptions) =>
          note(id, session, () => store.save(id, session, options)),
      };
    });
  }

  #ran(life: number, call: ToolCall, { executionId, round }: ToolContext, repeatable: boolean): void {
    const order = executionId.slice(executionId.lastIndexOf(".") + 1);
    const effect = JSON.stringify([call.name, call.arguments]);
    const run = { life, toolName: call.name, callId: call.id, executionId, step: `tool#${round}.${order}`, effect };
    this.runs.push(Object.freeze({ ...run, repeatable }));
  }

  #took(id: string, messages: readonly AgentMessage[]): void {
    const known = this.stored.get(id) ?? new Map<string, AgentMessage>();
    for (const message of messages) known.set(message.id, message);
    this.stored.set(id, known);
  }
}
