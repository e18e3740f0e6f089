import { Agent } from "ennead";
import { OfflineDemoModel } from "ennead/models/offline-demo";
import { ListMemory } from "./parts/list-memory.js";
import { MapSessionStore } from "./parts/map-session-store.js";

const agent = await Agent.create({
  model: new OfflineDemoModel(),
  sessions: [new MapSessionStore()],
  memory: [new ListMemory()],
});
await agent.runTurn("Hello", "my-session");
await agent.memory.store({ content: "The user likes tea." });

console.log((await agent.session("my-session")).messages.map(({ role }) => role));
//> [ 'user', 'assistant' ]
console.log((await agent.memory.search({ query: "tea" })).map(({ content }) => content));
//> [ 'The user likes tea.' ]
await agent.shutdown();
