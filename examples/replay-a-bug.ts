import { Agent, defineHook } from "ennead";
import { MemorySessionStore } from "ennead/sessions/memory";
import {
  assertTrace,
  RecordingObserver,
  recordPorts,
  replayPorts,
  ScriptedModel,
  stopResponse,
  toolCallResponse,
} from "ennead/testkit";
import { defineTool, Type } from "ennead/tools";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

const directory = await mkdtemp(join(tmpdir(), "replay-a-bug-"));
const file = join(directory, "kettle.jsonl");
const shopKey = "k3y-of-the-shop";

// Stands for the model that was asked in production.
const model = new ScriptedModel([
  toolCallResponse("stock", "call-1", { item: "blue kettle" }),
  stopResponse("The blue kettle is available."),
]);
const stock = defineTool({
  name: "stock",
  description: "Tells how many of an item are there.",
  parameters: Type.Object({ item: Type.String() }),
  execute: ({ item }) => `item: ${item}; price: 30; available: not before May`,
});

// #region suspect
/** Keeps results short. Too short, as it turns out: what matters may stand at their end. */
const shorten = (length: number) =>
  defineHook("shorten", {
    afterTool: ({ result }, context) => {
      const [first] = result.content;
      if (first?.type !== "text") return undefined;
      return context.patch({ content: [{ type: "text", text: first.text.slice(0, length) }] });
    },
  });
// #endregion suspect

// #region record
const recording = await recordPorts({ model, tools: [stock] }, file, { secrets: [shopKey] });
const recorded = await Agent.create({
  ...recording.ports,
  hooks: [shorten(42)],
  sessions: [new MemorySessionStore()],
  config: { providerOptions: { shop: { sign: shopKey } } },
});
console.log((await recorded.runTurn("Is the blue kettle there?")).text);
//> The blue kettle is available.
await recorded.shutdown();
await recording.close();
console.log((await readFile(file, "utf8")).includes(shopKey));
//> false
// #endregion record

// #region replay
// No network, no keys, and the same every time.
const replay = await replayPorts(file);
const observer = new RecordingObserver();
const again = await Agent.create({
  ...replay.ports,
  hooks: [shorten(42)],
  sessions: [new MemorySessionStore()],
  observers: [observer],
  config: { providerOptions: { shop: { sign: "no key is needed" } } },
});
console.log((await again.runTurn("Is the blue kettle there?")).text);
//> The blue kettle is available.
replay.assertDone();
assertTrace(
  `
    toolCallPending call-1 stock
    toolCallStarted call-1 stock
    toolCallResult call-1 completed
  `,
  observer.events.filter(({ type }) => type.startsWith("toolCall")),
);
// #endregion replay

// #region drift
// With the hook mended, the model is asked something else: the replay says where, and what.
const mended = await Agent.create({
  ...(await replayPorts(file)).ports,
  hooks: [shorten(200)],
  sessions: [new MemorySessionStore()],
  config: { providerOptions: { shop: { sign: "no key is needed" } } },
});
const drift: unknown = await mended.runTurn("Is the blue kettle there?").catch((error: unknown) => error);
console.log(drift instanceof Error && drift.message);
//> replay_drift: model call 1 of round 2 is not what was recorded as model call 1 of round 2 (line 7):
//>   messages[2].content[0].text differs at character 42: it is "…available: not before May", not "…available: n"
// #endregion drift
await Promise.all([again.shutdown(), mended.shutdown()]);
await rm(directory, { recursive: true });
