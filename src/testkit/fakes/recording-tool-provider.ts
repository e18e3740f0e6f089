import { adopt } from "../../domain/adopt.js";
import { createEmitter } from "../../domain/emitter.js";
import { Defect, ToolError } from "../../domain/errors.js";
import type { JsonObject } from "../../domain/json.js";
import type { ToolCall, ToolDef } from "../../domain/tool.js";
import { unreachable } from "../../domain/unreachable.js";
import type { ToolContext, ToolProvider, ToolReturn } from "../../ports/tool-provider.js";
import { toolDef } from "../builders.js";
import { HeldCalls } from "./held-calls.js";
import type { ToolStep } from "./tool-outcome.js";
import { ToolScript } from "./tool-script.js";
import { never, untilAborted } from "./until-aborted.js";

/** A request made of the provider. */
export type ToolOperation =
  | { readonly kind: "list" }
  | { readonly kind: "execute"; readonly callId: string; readonly toolName: string };

/** One execution. `requestedName` is what the model asked for, `toolName` what the agent made of it; `arguments` as they were at the call. */
export type ExecRecord = {
  readonly requestedName: string;
  readonly callId: string;
  readonly executionId: string;
  readonly toolName: string;
  readonly arguments: JsonObject;
  readonly outcome: "running" | "ok" | "error" | "threw" | "aborted" | "unknown-tool";
};

/** The optional members of the port that a test may want to give. */
export type ToolProviderMembers = Pick<
  ToolProvider,
  "name" | "optional" | "trustAnnotations" | "prepareArguments" | "validate" | "hooks" | "conflictKeys"
>;

type Exec = { -readonly [K in keyof ExecRecord]: ExecRecord[K] };

/** A source of scripted tools that records every listing and execution. */
export class RecordingToolProvider implements ToolProvider {
  declare readonly name?: string;
  declare readonly optional?: boolean;
  declare readonly trustAnnotations?: boolean;
  declare readonly prepareArguments?: NonNullable<ToolProvider["prepareArguments"]>;
  declare readonly validate?: NonNullable<ToolProvider["validate"]>;
  declare readonly hooks?: NonNullable<ToolProvider["hooks"]>;
  declare readonly conflictKeys?: NonNullable<ToolProvider["conflictKeys"]>;
  readonly #script = new ToolScript();
  readonly #held = new HeldCalls();
  readonly #changes = createEmitter<void>();
  readonly #ops: ToolOperation[] = [];
  readonly #execs: Exec[] = [];
  readonly #listFailures: unknown[] = [];

  constructor(members: ToolProviderMembers = {}) {
    Object.assign(this, members);
  }

  /** Adds or replaces a tool: one step holds for every call, a list is used up one a call. Tells the listeners of `onToolsChanged`. */
  add(tool: string | ToolDef, script: ToolStep | readonly ToolStep[]): this {
    this.#script.add(typeof tool === "string" ? toolDef(tool) : tool, script);
    this.#changes.emit();
    return this;
  }

  /** Takes a tool off the list; a call of it is then unknown. Tells the listeners of `onToolsChanged`. */
  remove(name: string): this {
    this.#script.remove(name);
    this.#changes.emit();
    return this;
  }

  /** What the call of this id does, whatever its tool's script says; used once. */
  forCall(callId: string, step: ToolStep): this {
    this.#script.forCall(callId, step);
    return this;
  }

  /** The next listing rejects with this value; several calls queue up. */
  failList(error: unknown): this {
    this.#listFailures.push(error);
    return this;
  }

  /** Resolves once the held call of this id is running. */
  started(callId: string): Promise<void> {
    return this.#held.started(callId);
  }

  /** Lets a held call go on with `step`. A call that is not being held is a `Defect`. */
  settle(callId: string, step: ToolStep): void {
    this.#held.settle(callId, step);
  }

  async listTools(): Promise<readonly ToolDef[]> {
    this.#ops.push(Object.freeze({ kind: "list" }));
    if (this.#listFailures.length > 0) throw this.#listFailures.shift();
    return this.#script.defs();
  }

  async execute(call: ToolCall, context: ToolContext): Promise<ToolReturn> {
    this.#ops.push(Object.freeze({ kind: "execute", callId: call.id, toolName: call.name }));
    const exec: Exec = {
      requestedName: context.requestedName,
      callId: call.id,
      executionId: context.executionId,
      toolName: call.name,
      arguments: adopt(call.arguments, "call.arguments"),
      outcome: "running",
    };
    this.#execs.push(exec);
    try {
      const value = await this.#play(this.#script.next(call), call, context);
      exec.outcome = isErrorResult(value) ? "error" : "ok";
      return value;
    } catch (error) {
      exec.outcome = outcomeOf(error, context.signal);
      throw error;
    }
  }

  onToolsChanged(listener: () => void): () => void {
    return this.#changes.subscribe(listener);
  }

  /** Listings and executions as they came in. */
  get ops(): readonly ToolOperation[] {
    return [...this.#ops];
  }

  get listCallCount(): number {
    return this.#ops.reduce((count, op) => count + (op.kind === "list" ? 1 : 0), 0);
  }

  /** In order of start, with the outcome known now. */
  get execRecords(): readonly ExecRecord[] {
    return this.#execs.map((exec) => Object.freeze({ ...exec }));
  }

  /** Throws a `Defect` when a script ran out, when listed steps were not used, or when a call has not settled. */
  assertDone(): void {
    this.#script.assertDone();
    const running = this.#execs.find((exec) => exec.outcome === "running");
    if (running !== undefined) throw new Defect(`tool_script_unfinished: call ${running.callId} has not settled`);
  }

  async #play(step: ToolStep, call: ToolCall, context: ToolContext): Promise<ToolReturn> {
    switch (step.kind) {
      case "return":
        return step.value;
      case "throw":
        throw step.error;
      case "hang":
        return step.ignoreAbort ? never : untilAborted(context.signal, never, aborted);
      case "progress":
        for (const partial of step.partials) context.progress(partial);
        return this.#play(step.then, call, context);
      case "held":
        return this.#play(await this.#held.hold(call.id), call, context);
      default:
        return unreachable(step);
    }
  }
}

function aborted(): ToolError {
  return new ToolError("aborted", "the signal was aborted");
}

function outcomeOf(error: unknown, signal: AbortSignal): ExecRecord["outcome"] {
  if (error instanceof ToolError && error.kind === "unknown-tool") return "unknown-tool";
  return signal.aborted ? "aborted" : "threw";
}

function isErrorResult(value: ToolReturn): boolean {
  return typeof value === "object" && value !== null && "isError" in value && value.isError === true;
}
