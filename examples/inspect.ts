import { Agent, type Compressor, userMessage } from "ennead";
import { approval } from "ennead/hooks/approval";
import { OfflineDemoModel } from "ennead/models/offline-demo";
import { MemorySessionStore } from "ennead/sessions/memory";
import { ToolRegistry } from "ennead/tools";
import { addNumbers } from "./parts/add-numbers.js";

// #region compressor
/** Writes a summary in place of all but the last exchange, and only when it is asked for. */
const summary: Compressor = {
  name: "summary",
  compress: (messages, { reason }) => {
    const [upTo] = messages.slice(0, -2).slice(-1);
    if (reason !== "requested" || upTo === undefined) return { type: "none" };
    return { type: "replace", messages: [userMessage("[summary] Some sums.")], upTo: upTo.id };
  },
};
// #endregion compressor

const agent = await Agent.create({
  model: new OfflineDemoModel(),
  tools: [new ToolRegistry([addNumbers], "calculator")],
  hooks: [approval({ hints: { readOnly: false } })],
  compressors: [summary],
  sessions: [new MemorySessionStore()],
  config: { maxToolRounds: 10, toolTimeoutMs: 5_000 },
});
await agent.runTurn("What is 1 + 2?", "sums");
await agent.runTurn("What is 3 + 4?", "sums");

// #region explain
console.log(agent.explain().text);
//> model: OfflineDemoModel (rules), streaming
//> sessions: memory
//> tool providers: calculator
//>   add_numbers: from calculator, parallel, read-only, idempotent, 5000 ms, validated
//> compressors: summary
//> memory: none
//> observers: none
//> lifecycles: none
//> commands: none
//> hooks:
//>   beforeTool: approval
//> behaviour: system none, projectsMessages false, toolExecution parallel, malformedCalls report, coerceArguments false, persistence round, onBusy wait, onToolRoundLimit fail, steerMode one, followUpMode one
//> limits other than the defaults: maxToolRounds 10
// #endregion explain

// #region compact
console.log(await agent.compact("sums"));
//> { sessionId: 'sums', changed: true, before: 8, after: 5 }
console.log((await agent.session("sums")).messages.length);
//> 8
// #endregion compact
await agent.shutdown();
