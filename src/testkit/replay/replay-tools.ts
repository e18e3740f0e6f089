import { copyJson } from "../../domain/adopt.js";
import { Defect, ToolError } from "../../domain/errors.js";
import type { Json, JsonObject } from "../../domain/json.js";
import { safeLabel } from "../../domain/safe-label.js";
import type { ToolCall, ToolDef } from "../../domain/tool.js";
import type { ToolContext, ToolProvider, ToolReturn } from "../../ports/tool-provider.js";
import { errorFromJson } from "../error-json.js";
import { faced } from "../faced.js";
import { never, untilAborted } from "../fakes/until-aborted.js";
import { RecordedCalls, recordedDifference, type Taken } from "./recorded-calls.js";
import { ReplayDrift } from "./recording-error.js";
import { type NumberedLine, ofType } from "./recording-file.js";
import type { RecordedAskLine, RecordedListLine, RecordedProvider, RecordedToolLine } from "./recording-line.js";
import { Pacing, type ReplayParts, settled } from "./replay-model.js";
import type { SettlingOrder } from "./settling-order.js";

/** `order` is shared by all providers of a recording; `live` is the real provider, where it is at hand. */
type ToolReplayParts = ReplayParts & { readonly order: SettlingOrder; readonly live: ToolProvider | undefined };

/** Answers the calls of one provider. */
export class ToolReplay {
  readonly calls: RecordedCalls<RecordedToolLine>;
  readonly #provider: RecordedProvider;
  readonly #parts: ToolReplayParts;
  readonly #lists: readonly RecordedListLine[];
  readonly #asks: readonly RecordedAskLine[];
  readonly #changes: number[];
  readonly #listeners = new Set<() => void>();
  #listed = 0;

  constructor(provider: RecordedProvider, lines: readonly NumberedLine[], parts: ToolReplayParts) {
    this.calls = new RecordedCalls(ofType(lines, "tool"), ({ name, id }) => label(name, id), parts.onUse);
    this.#provider = provider;
    this.#parts = parts;
    this.#lists = ofType(lines, "list").map(({ line }) => line);
    this.#asks = ofType(lines, "ask").map(({ line }) => line);
    this.#changes = ofType(lines, "changed").map(({ number }) => number);
    const hooked = this.#asks.find(({ method }) => method === "hooks")?.args[0];
    if (hooked !== undefined && parts.live === undefined)
      throw new Defect(
        `replayPorts: tool ${safeLabel(String(hooked))} has hooks of its own, which no file holds: give the providers as tools`,
      );
  }

  /** Tells that the tools changed as soon as every call that was recorded before has been made; `next` is the line of the first that was not. */
  change(next: number): void {
    for (let at = this.#changes[0]; at !== undefined && at < next; at = this.#changes[0]) {
      this.#changes.shift();
      for (const listener of this.#listeners) listener();
    }
  }

  port(): ToolProvider {
    const listTools = async (): Promise<readonly ToolDef[]> => this.#list();
    const execute = async (call: ToolCall, context: ToolContext): Promise<ToolReturn> => this.#execute(call, context);
    const { live } = this.#parts;
    if (live !== undefined) {
      return faced(live, (key) => {
        if (key === "listTools") return { value: listTools };
        return key === "execute" ? { value: execute } : undefined;
      });
    }
    const { asks, ...described } = this.#provider;
    const answers = asks.map((method) => [
      method,
      method === "onToolsChanged" ? this.#watch : (...args: readonly unknown[]) => this.#ask(method, args),
    ]);
    return { ...described, ...(Object.fromEntries(answers) as Partial<ToolProvider>), listTools, execute };
  }

  readonly #watch = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  };

  /** As often as it was listed then; later listings are like the last. */
  async #list(): Promise<readonly ToolDef[]> {
    const line = this.#lists[Math.min(this.#listed++, this.#lists.length - 1)];
    if (line === undefined) return [];
    return (await settled(line.end, () => Promise.resolve([]))) as readonly ToolDef[];
  }

  async #execute(call: ToolCall, context: ToolContext): Promise<ToolReturn> {
    const { line, number } = this.#find(call);
    return this.#parts.order.settle(number, () => this.#answer(line, context));
  }

  async #answer(line: RecordedToolLine, context: ToolContext): Promise<ToolReturn> {
    const { signal } = context;
    const aborted = (): ToolError => new ToolError("aborted", "the signal was aborted");
    const pace = new Pacing(this.#parts.pace, signal, aborted);
    for (const [ms, partial] of line.progress) {
      if (pace.isAhead(ms)) await pace.reach(ms);
      context.progress(partial);
    }
    await pace.reach(line.end.ms);
    return (await settled(line.end, () => untilAborted(signal, never, aborted))) as ToolReturn;
  }

  #find(call: ToolCall): Taken<RecordedToolLine> {
    const args = this.#parts.scrubber.json(call.arguments) as JsonObject;
    const same = (line: RecordedToolLine): string | undefined =>
      recordedDifference({ arguments: line.arguments }, { arguments: args });
    const asked = label(call.name, call.id);
    try {
      const sameId = ({ id, name }: RecordedToolLine): boolean => id === call.id && name === call.name;
      if (this.calls.has(sameId)) return this.calls.take(asked, same, sameId);
      return this.calls.take(asked, same, ({ name }) => name === call.name);
    } catch (error) {
      throw this.#parts.drifted(error);
    }
  }

  #ask(method: string, args: readonly unknown[]): unknown {
    const asked = this.#parts.scrubber.json(copyJson(args, method)) as readonly Json[];
    const known = this.#asks.find(
      (line) => line.method === method && recordedDifference(line.args, asked) === undefined,
    );
    if (known === undefined)
      throw this.#parts.drifted(
        new ReplayDrift(`replay_drift: ${method} was not recorded for ${safeLabel(JSON.stringify(asked))}`),
      );
    if (known.end.error !== undefined) throw errorFromJson(known.end.error);
    return known.end.value;
  }
}

function label(name: string, id: string): string {
  return `tool ${safeLabel(name)} (call ${safeLabel(id)})`;
}
