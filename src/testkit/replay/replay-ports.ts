import { Defect } from "../../domain/errors.js";
import type { ModelPort } from "../../ports/model.js";
import type { ToolProvider } from "../../ports/tool-provider.js";
import { ofType, type RecordingSource, readRecording } from "./recording-file.js";
import { ModelReplay } from "./replay-model.js";
import type { ReplayOptions } from "./replay-options.js";
import { ToolReplay } from "./replay-tools.js";
import { Scrubber } from "./scrubber.js";
import { SettlingOrder } from "./settling-order.js";

/** Ports that answer from a recording, without any network. */
export type Replay = {
  /** For an agent, beside what else it is made of. */
  readonly ports: { readonly model: ModelPort; readonly tools: readonly ToolProvider[] };
  /** Recorded calls that nobody has made so far, a line each. */
  readonly unused: readonly string[];
  /** Throws a `Defect` that lists recorded calls nobody made; a drift that was met before is thrown again. */
  assertDone(): void;
};

/**
 * Plays a recording back: a model call answers when it asks for what was asked then, but for ids and times; a tool call by its id, else by its name and
 * arguments, so that calls that run together may come in any order. Anything else is a `ReplayDrift`, which names the first difference.
 * Rejects with `RecordingError`, naming the line, for a file that is no recording.
 */
export async function replayPorts(file: RecordingSource, options: ReplayOptions = {}): Promise<Replay> {
  const { head, lines } = await readRecording(file);
  const scrubber = new Scrubber(options.secrets);
  const drifts: unknown[] = [];
  const drifted = (error: unknown): unknown => {
    drifts.push(error);
    return error;
  };
  const onUse = (): void => {
    const next = Math.min(model.calls.next, ...tools.map(({ calls }) => calls.next));
    for (const tool of tools) tool.change(next);
  };
  const shared = { scrubber, pace: options.pace, drifted, onUse };
  const model = new ModelReplay(ofType(lines, "model"), { ...shared, normalise: options.normalise });
  const order = new SettlingOrder();
  const tools = head.providers.map((provider, index) => {
    const own = lines.filter(({ line }) => line.type !== "model" && line.provider === index);
    return new ToolReplay(provider, own, { ...shared, order, live: options.tools?.[index] });
  });
  const unused = (): string[] => [...model.calls.unused, ...tools.flatMap(({ calls }) => calls.unused)];
  return {
    ports: { model: model.port(head.model), tools: tools.map((tool) => tool.port()) },
    get unused() {
      return unused();
    },
    assertDone() {
      if (drifts.length > 0) throw drifts[0];
      const left = unused();
      if (left.length > 0)
        throw new Defect([`replay_unfinished: ${left.length} recorded calls were not made:`, ...left].join("\n  "));
    },
  };
}
