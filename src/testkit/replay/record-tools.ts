import { copyJson } from "../../domain/adopt.js";
import type { Json, JsonObject } from "../../domain/json.js";
import type { ToolCall } from "../../domain/tool.js";
import { normaliseToolReturn } from "../../domain/tool-result.js";
import type { ToolContext, ToolProvider } from "../../ports/tool-provider.js";
import { errorToJson } from "../error-json.js";
import { faced } from "../faced.js";
import type { Recorder } from "./recorder.js";
import type { RecordedEnd, RecordingLine } from "./recording-line.js";

/** The pure functions of a provider. */
export const ASKS = ["validate", "prepareArguments", "conflictKeys"] as const;

/** A provider that records; `index` is its place among the providers. */
export function recordedTools(provider: ToolProvider, index: number, recorder: Recorder): ToolProvider {
  const listTools: ToolProvider["listTools"] = async (context) => {
    const line = (end: RecordedEnd): RecordingLine => ({ type: "list", provider: index, end });
    const json = (defs: unknown): Json => copyJson(defs, "tools") as Json;
    return recorder.begin().settle(async () => provider.listTools(context), line, json);
  };
  const execute = async (call: ToolCall, context: ToolContext): Promise<unknown> => {
    const { id, name } = call;
    const args = copyJson(call.arguments, "arguments") as JsonObject;
    const progress: [number, Json][] = [];
    const began = recorder.begin();
    const told = faced(context, (key) => {
      if (key !== "progress") return undefined;
      return {
        value: (partial: Json): void => {
          progress.push([began.ms(), copyJson(partial, "progress") as Json]);
          context.progress(partial);
        },
      };
    });
    const line = (end: RecordedEnd): RecordingLine => {
      const partials = recorder.partials(progress);
      return { type: "tool", provider: index, id, name, arguments: args, progress: partials, end };
    };
    return began.settle(async () => provider.execute(call, told), line, returned);
  };
  const asks = new Map<PropertyKey, unknown>(
    ASKS.filter((ask) => provider[ask] !== undefined).map((ask) => [ask, recordedAsk(provider, index, ask, recorder)]),
  );
  const watch = provider.onToolsChanged?.bind(provider);
  if (watch !== undefined) {
    const changed: RecordingLine = { type: "changed", provider: index, end: { ms: 0 } };
    asks.set("onToolsChanged", (listener: () => void) =>
      watch(() => {
        recorder.write(changed);
        listener();
      }),
    );
  }
  const hooks = provider.hooks?.bind(provider);
  if (hooks !== undefined) {
    const line = (name: string): RecordingLine => ({
      type: "ask",
      provider: index,
      method: "hooks",
      args: [name],
      end: { ms: 0 },
    });
    asks.set("hooks", (name: string) => {
      const own = hooks(name);
      if (own !== undefined) recorder.write(line(name));
      return own;
    });
  }
  return faced(provider, (key) => {
    if (key === "listTools") return { value: listTools };
    if (key === "execute") return { value: execute };
    return asks.has(key) ? { value: asks.get(key) } : undefined;
  });
}

function recordedAsk(
  provider: ToolProvider,
  index: number,
  method: (typeof ASKS)[number],
  recorder: Recorder,
): unknown {
  return (...args: readonly unknown[]): unknown => {
    const asked = copyJson(args, method) as readonly Json[];
    const note = (end: Omit<RecordedEnd, "ms">): void =>
      recorder.write({ type: "ask", provider: index, method, args: asked, end: { ms: 0, ...end } });
    try {
      const value: unknown = Reflect.apply(provider[method] as () => unknown, provider, args);
      note({ value: copyJson(value ?? null, method) as Json });
      return value;
    } catch (error) {
      note({ error: errorToJson(error) });
      throw error;
    }
  };
}

/** As it was returned where JSON holds it, else as the agent makes a result of it. */
function returned(value: unknown): Json | undefined {
  if (value === undefined) return undefined;
  try {
    return copyJson(value, "result") as Json;
  } catch {
    return copyJson(normaliseToolReturn(value), "result") as Json;
  }
}
