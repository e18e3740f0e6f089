import { createAgent, Ports } from "ennead/container";
import { OfflineDemoModel } from "ennead/models/offline-demo";
import { MemorySessionStore } from "ennead/sessions/memory";
import { container } from "tsyringe";
import { addNumbers } from "./parts/add-numbers.js";

container.registerInstance(Ports.Model, new OfflineDemoModel());
container.registerInstance(Ports.Sessions, new MemorySessionStore());
container.registerInstance(Ports.Tools, addNumbers);

const agent = await createAgent(container);
const { text } = await agent.runTurn("What is 20 + 22?", "my-session");
console.log(text);
//> [offline demo: rules, not a language model]
//> add_numbers(20 + 22) gives 42
await agent.shutdown();
