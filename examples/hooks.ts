import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Agent, contentText, defineHook, type PipelineHook } from "ennead";
import { approval } from "ennead/hooks/approval";
import { audit, auditFile } from "ennead/hooks/audit";
import { guardrail } from "ennead/hooks/guardrail";
import { hookChain } from "ennead/hooks/hook-chain";
import { recall } from "ennead/hooks/recall";
import { redact } from "ennead/hooks/redact";
import { InMemoryMemory } from "ennead/memory/in-memory";
import { MemorySessionStore } from "ennead/sessions/memory";
import { modelStep, ScriptedModel, stopResponse, textStream, toolCallResponse } from "ennead/testkit";
import { defineTool, Type } from "ennead/tools";

const folder = await mkdtemp(join(tmpdir(), "ennead-"));
const path = join(folder, "audit.jsonl");
const script = [
  toolCallResponse("pay", "call-1", { to: "Ada", amount: 60 }),
  stopResponse("Ada has her 60."),
  toolCallResponse("pay", "call-2", { to: "Eve", amount: 6000 }),
  stopResponse("That was too much."),
  modelStep.hang(textStream("The key is sk-1234-5678, and").slice(0, -1)),
  stopResponse("Green tea."),
];
const model = new ScriptedModel(script);
const memory = new InMemoryMemory();
const pay = defineTool({
  name: "pay",
  description: "Pays an amount in euros.",
  parameters: Type.Object({ to: Type.String(), amount: Type.Number({ exclusiveMinimum: 0 }) }),
  execute: ({ to, amount }) => `Paid ${amount} to ${to}.`,
});

// #region guardrail
const limits = guardrail({
  input: (text) => (text.includes("password") ? { block: "no passwords, please" } : undefined),
  toolCall: ({ name, arguments: args }) =>
    name === "pay" && Number(args["amount"]) > 1000 ? { block: "more than 1,000 euros" } : undefined,
});
// #endregion guardrail

// #region redact
const secrets = redact({
  secrets: () => [process.env["SERVICE_TOKEN"] ?? "not set yet"],
  patterns: [{ name: "key", pattern: /sk-[\d-]{9}/ }],
});
// #endregion redact

// #region audit
const records = audit({ sink: auditFile(path), actor: ({ sessionId }) => `user of ${sessionId}`, onFailure: "refuse" });
// #endregion audit

// #region approval
const decisions = approval({
  tools: ["pay"],
  unmatched: "refuse",
  ask: ({ call }) => Number(call.arguments["amount"]) < 100 || { approve: false, reason: "ask the boss" },
});
// #endregion approval

// #region recall
const knowledge = recall({ scope: ({ sessionId }) => ({ user: sessionId }), topK: 3 });
// #endregion recall

// #region chain
// What belongs together, in one order, wherever it is used.
const safety: PipelineHook = hookChain("safety", [secrets, limits, decisions]);
const agent = await Agent.create({
  model,
  memory: [memory],
  tools: [pay],
  sessions: [new MemorySessionStore()],
  hooks: [records, safety, knowledge],
});
// #endregion chain

await memory.store({ content: "Ada likes green tea.", metadata: { user: "ada" } });

// #region guarded
await agent.runTurn("My password is 1234.", "ada").catch((error: Error) => console.log(error.message));
//> AgentError(hook-aborted): no passwords, please

for (const order of ["Pay Ada.", "Pay Eve."]) {
  const { toolResults, text } = await agent.runTurn(order, "ada");
  console.log(
    toolResults.map(({ content }) => contentText(content)),
    text,
  );
}
//> [ 'Paid 60 to Ada.' ] Ada has her 60.
//> [ 'The call was blocked: more than 1,000 euros' ] That was too much.
// #endregion guarded

// #region cut
// What was said before an abort is kept as the hooks leave it.
const turn = agent.startTurn("What is the key?", "ada");
for await (const event of turn) if (event.type === "streamChunk" && event.chunk.type === "textDelta") turn.abort();
const { status, text } = await turn.result;
console.log(status, text);
//> aborted The key is [redacted key], and
// #endregion cut

// #region recalled
await agent.runTurn("What tea do I like?", "ada");
console.log(JSON.stringify(model.requests.at(-1)?.messages.at(-2)).includes("green tea"));
//> true
// #endregion recalled

// #region records
const lines = (await readFile(path, "utf8")).trim().split("\n");
console.log(lines.map((line) => (JSON.parse(line) as { type: string }).type).slice(2, 7));
//> [
//>   'turn-began',
//>   'model-replied',
//>   'call-started',
//>   'call-ended',
//>   'model-replied'
//> ]
// #endregion records

// #region own
// A hook of your own sees whole replies and those that were cut short; what it fails to look at is kept nowhere.
const polite = defineHook("polite", {
  onFailure: { afterModel: "withhold" },
  afterModel: ({ response, stopped }, context) => {
    const parts = response.parts.map((part) =>
      part.type === "text" ? { ...part, text: part.text.replaceAll("damn", "dear") } : part,
    );
    if (stopped !== undefined) context.emit("cut-short", { stopped });
    return context.next({ response: { ...response, parts } });
  },
});
model.push(stopResponse("damn good tea"));
console.log((await agent.runTurn("How is it?", "ada", { hooks: [polite] })).text);
//> dear good tea
// #endregion own

await agent.shutdown();
await rm(folder, { recursive: true });
