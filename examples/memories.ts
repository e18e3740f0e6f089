import { Agent } from "ennead";
import { recall } from "ennead/hooks/recall";
import { SqliteMemory } from "ennead/memory/sqlite";
import { OfflineDemoModel } from "ennead/models/offline-demo";
import { MemorySessionStore } from "ennead/sessions/memory";
import { memoryTools } from "ennead/tools/memory-tools";
import { toyVector } from "./parts/memories.js";

// #region words
await using memory = new SqliteMemory({ path: ":memory:" });
await memory.store({ content: "Ann likes green tea.", metadata: { user: "ann" } });
await memory.storeAll([
  { content: "Bob drinks coffee, never tea.", metadata: { user: "bob" } },
  { content: "Ann lives in Oslo.", metadata: { user: "ann" } },
]);
const hits = await memory.search({ query: "green tea", filter: { user: "ann" }, topK: 3, threshold: 0.1 });
console.log(hits.map(({ content }) => content));
//> [ 'Ann likes green tea.' ]
// #endregion words

// #region vectors
await using byMeaning = new SqliteMemory({
  path: ":memory:",
  embedding: { embed: (text) => toyVector(text), model: "toy-1", failure: "text-only" },
});
await byMeaning.store({ content: "Ann has a kitten." });
await byMeaning.store({ content: "The meeting is on Monday." });
const [nearest] = await byMeaning.search({ query: "pets", threshold: 0.5 });
console.log(nearest?.content);
//> Ann has a kitten.
// #endregion vectors

// #region agent
const scope = ({ sessionId }: { readonly sessionId: string }) => ({ user: sessionId });
const agent = await Agent.create({
  model: new OfflineDemoModel(),
  sessions: [new MemorySessionStore()],
  memory: [memory],
  tools: memoryTools({ scope }),
  hooks: [recall({ scope })],
});
await agent.runTurn("Where does Ann live?", "ann");
const [hit] = await agent.memory.search({ query: "Oslo", filter: { user: "ann" } });
console.log(hit?.memory, hit?.content);
//> sqlite ":memory:" Ann lives in Oslo.
await agent.shutdown();
// #endregion agent
