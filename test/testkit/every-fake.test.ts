import { describe, expect, test } from "vitest";
import { Defect, MemoryError, ModelError, SessionError } from "../../src/domain/errors.js";
import type { AgentApi } from "../../src/ports/agent-api.js";
import {
  modelStep,
  RecordingCommands,
  RecordingCompressor,
  RecordingHook,
  RecordingLifecycle,
  RecordingMemory,
  RecordingObserver,
  RecordingSessionStore,
  RecordingToolProvider,
  sampleEvents,
  sampleStages,
  ScriptedModel,
  stopResponse,
  testStageContext,
  testToolContext,
  toolOutcome,
} from "../../src/testkit/index.js";

/** A fake with a script of two steps: how to take one, what it recorded, and its own word for a script that is not done. */
type Subject = {
  readonly fake: { assertDone(): void };
  /** Takes the nth step with arguments that the caller changes afterwards; answers what changes them. */
  readonly use: (nth: number) => Promise<() => void>;
  readonly records: () => readonly unknown[];
  readonly unfinished: string;
};

const { signal } = new AbortController();
const message = () => ({ role: "user" as const, id: "m", at: 0, content: [{ type: "text" as const, text: "before" }] });
const ignore = (): void => undefined;

const fakes: Readonly<Record<string, () => Subject>> = {
  ScriptedModel() {
    const fake = new ScriptedModel([stopResponse("a"), modelStep.fail(new ModelError("server", "down"))]);
    const use = async () => {
      const messages = [message()];
      await fake
        .chat({ messages, tools: [], options: {}, signal, sessionId: "s", turnId: "t", round: 1 })
        .catch(ignore);
      return () => void messages.splice(0);
    };
    return { fake, use, records: () => fake.calls, unfinished: "scripted_model_unfinished: 1 of 2 steps were used" };
  },
  RecordingToolProvider() {
    const fake = new RecordingToolProvider().add("look", [toolOutcome.ok("x"), toolOutcome.error("y")]);
    const use = async (nth: number) => {
      const args = { list: ["before"] };
      await fake.execute({ id: `c${nth}`, name: "look", arguments: args }, testToolContext());
      return () => void args.list.splice(0);
    };
    return {
      fake,
      use,
      records: () => fake.execRecords,
      unfinished: "tool_script_unfinished: 1 of 2 steps of look were used",
    };
  },
  RecordingSessionStore() {
    const fake = new RecordingSessionStore();
    fake.failSave("s", { nth: 2, error: new SessionError("save", "full") });
    const use = async (nth: number) => {
      const messages = [message()];
      await fake.append("s", { operationId: `o${nth}`, baseRevision: 0, messages }).catch(ignore);
      return () => void messages.splice(0);
    };
    return {
      fake,
      use,
      records: () => fake.ops,
      unfinished: "recording_session_store_unfinished: failSave of s was never met",
    };
  },
  RecordingObserver() {
    const fake = new RecordingObserver().throwOn("turnFailed");
    const [first] = sampleEvents();
    const failed = sampleEvents().find(({ type }) => type === "turnFailed");
    const use = async (nth: number) => {
      const event = structuredClone(nth === 1 ? first : failed);
      try {
        fake.onEvent(event ?? expect.fail("there is no sample"));
      } catch {
        // Told to.
      }
      return () => void Object.assign(event ?? {}, { seq: -1 });
    };
    return { fake, use, records: () => fake.events, unfinished: "recording_observer_unfinished: no turnFailed came" };
  },
  RecordingHook() {
    const fake = new RecordingHook().stopWhen("beforeModel").abortWhen("beforeTool");
    const use = async (nth: number) => {
      const kind = nth === 1 ? "beforeModel" : "beforeTool";
      const stage = sampleStages().find((one) => one.kind === kind) ?? expect.fail("there is no sample");
      fake.onStage(stage, testStageContext());
      return () => void Object.assign(stage, { kind: "changed" });
    };
    return {
      fake,
      use,
      records: () => fake.records,
      unfinished: "recording_hook_unfinished: rule 2 of 2 (beforeTool) never held",
    };
  },
  RecordingCompressor() {
    const none = { type: "none" } as const;
    const fake = new RecordingCompressor([none, none]);
    const use = async () => {
      const messages = [message()];
      fake.compress(messages, { sessionId: "s", estimatedTokens: 1, reason: "requested", signal });
      return () => void messages.splice(0);
    };
    return {
      fake,
      use,
      records: () => fake.records,
      unfinished: "recording_compressor_unfinished: 1 of 2 steps were used",
    };
  },
  RecordingMemory() {
    const fake = new RecordingMemory().failNext("search", new MemoryError("search", "down"));
    const use = async (nth: number) => {
      const metadata = { list: ["before"] };
      const asked = nth === 1 ? fake.store({ content: "x", metadata }) : fake.search({ query: "x", filter: metadata });
      await asked.catch(ignore);
      return () => void metadata.list.splice(0);
    };
    return { fake, use, records: () => fake.ops, unfinished: "recording_memory_unfinished: no search came" };
  },
  RecordingLifecycle() {
    const fake = new RecordingLifecycle();
    const use = async (nth: number) => {
      await (nth === 1 ? fake.onStart() : fake.onShutdown());
      return ignore;
    };
    return {
      fake,
      use,
      records: () => fake.calls,
      unfinished: "recording_lifecycle_unfinished: recording: it was started and not shut down",
    };
  },
  RecordingCommands() {
    const none: object = {};
    const fake = new RecordingCommands()
      .add("one", { type: "success", feedback: "" })
      .add("two", { type: "success", feedback: "" });
    const use = async (nth: number) => {
      const args = { list: ["before"] };
      await fake.invoke(nth === 1 ? "one" : "two", args, { signal, agent: none as AgentApi });
      return () => void args.list.splice(0);
    };
    return {
      fake,
      use,
      records: () => fake.records,
      unfinished: "recording_commands_unfinished: two was never invoked",
    };
  },
};

/** Places in a value that can still be changed; errors are kept as they are. */
function loose(value: unknown, place: string): readonly string[] {
  if (typeof value !== "object" || value === null || value instanceof Error) return [];
  const inner = Object.entries(value).flatMap(([key, field]) => loose(field, `${place}.${key}`));
  return Object.isFrozen(value) ? inner : [place, ...inner];
}

describe.each(Object.entries(fakes))("%s", (_, make) => {
  test("records frozen values, as they were when it was asked", async () => {
    const { use, records } = make();
    const change = await use(1);
    const before = JSON.stringify(records());
    change();
    expect(JSON.stringify(records())).toBe(before);
    expect(records().flatMap((record, index) => loose(record, `record ${index}`))).toEqual([]);
  });

  test("gives snapshots: what was read before does not grow, and cannot be used to change what is kept", async () => {
    const { use, records } = make();
    await use(1);
    const read = records();
    await use(2);
    expect(read).toHaveLength(1);
    expect(records()).toHaveLength(2);
    try {
      (records() as unknown[]).splice(0);
    } catch {
      // Frozen as well.
    }
    expect(records()).toHaveLength(2);
  });

  test("assertDone throws a defect until its script came about, and then nothing", async () => {
    const { fake, use, unfinished } = make();
    await use(1);
    expect(() => fake.assertDone()).toThrow(new Defect(unfinished));
    await use(2);
    fake.assertDone();
  });
});
