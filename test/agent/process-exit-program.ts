import { MemorySessionStore } from "../../src/adapters/sessions/memory.js";
import { createBudget } from "../../src/agent/budget.js";
import { Agent } from "../../src/agent/agent.js";
import type { AgentPorts } from "../../src/agent/agent-ports.js";
import { stopResponse, toolCallResponse, toolDef } from "../../src/testkit/builders.js";

/** A process of its own, with nothing to keep it but what is awaited: does what its argument names and prints how it ended. */
const never = (): Promise<never> => new Promise(() => {});
const reply = { chat: () => Promise.resolve(stopResponse("done")) };

async function make(ports: Partial<AgentPorts>): Promise<Agent> {
  return Agent.create({ model: reply, sessions: [new MemorySessionStore()], ...ports });
}

class DeafStore extends MemorySessionStore {
  override append = never;
}

const endings: Readonly<Record<string, () => Promise<string>>> = {
  async shutdown() {
    const agent = await make({ model: { chat: never }, config: { drainMs: 20 } });
    const { result } = agent.startTurn("hi", "s");
    await Promise.resolve();
    await agent.shutdown();
    return (await result).status;
  },
  async abort() {
    const agent = await make({ model: { chat: never } });
    const turn = agent.startTurn("hi", "s");
    setTimeout(() => turn.abort("enough"), 10);
    return (await turn.result).status;
  },
  async hook() {
    const hooks = [{ name: "deaf", stages: ["afterTurn"] as const, onStage: never }];
    const agent = await make({ hooks, config: { hookTimeoutMs: 50 } });
    return (await agent.runTurn("hi", "s")).status;
  },
  async store() {
    const agent = await make({ sessions: [new DeafStore()], config: { storeTimeoutMs: 50 } });
    return agent.runTurn("hi", "s").then(({ status }) => status, String);
  },
  async listener() {
    const agent = await make({ config: { listenerTimeoutMs: 50, onSecondaryFailure: () => {} } });
    agent.subscribe(never);
    return (await agent.runTurn("hi", "s")).status;
  },
  async timeout() {
    const agent = await make({ model: { chat: never }, config: { turnTimeoutMs: 50 } });
    return agent.runTurn("hi", "s").then(({ status }) => status, String);
  },
  async tool() {
    const tool = { name: "deaf", listTools: () => [{ ...toolDef("f"), timeoutMs: 50 }], execute: never };
    const replies = [toolCallResponse("f", "c1"), stopResponse("done")];
    const calls = { chat: async () => replies.shift() ?? stopResponse("again") };
    const agent = await make({ model: calls, tools: [tool] });
    return (await agent.runTurn("hi", "s")).toolResults.map(({ outcome }) => outcome).join();
  },
  async deadline() {
    const budget = createBudget({ deadline: Date.now() + 50 });
    const tool = { name: "deaf", listTools: () => [toolDef("f")], execute: never };
    const calls = { chat: () => Promise.resolve(toolCallResponse("f", "c1")) };
    const agent = await make({ model: calls, tools: [tool], config: { budget } });
    return agent.runTurn("hi", "s").then(({ status }) => status, String);
  },
  async compact() {
    const agent = await make({ compressors: [{ compress: () => Promise.resolve({ type: "none" }) }] });
    return String((await agent.compact("s")).changed);
  },
  async append() {
    const agent = await make({ sessions: [new DeafStore()], config: { storeTimeoutMs: 50 } });
    return agent.appendMessage("s", { role: "user", content: "hi" }).then(({ id }) => id, String);
  },
  async finished() {
    const budget = createBudget({ deadline: Date.now() + 3_600_000 });
    const agent = await make({ config: { turnTimeoutMs: 60_000, budget } });
    await agent.appendMessage("s", { role: "user", content: "hi" });
    const { status } = await agent.runTurn("hi", "s");
    const timers = process.getActiveResourcesInfo().filter((kind) => kind === "Timeout");
    return `${status}, ${timers.length} timers keep the process`;
  },
};

const ending = await endings[process.argv[2] ?? ""]?.();
process.stdout.write(`${ending}\n`);
