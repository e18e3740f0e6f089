import { Agent, defineHook } from "ennead";
import { MemorySessionStore } from "ennead/sessions/memory";
import { defineTool } from "ennead/tools";
import { BareLoop } from "./bare-loop.mjs";
import { Counter } from "./counter.mjs";
import { hashOf, storedDigest } from "./digest.mjs";
import { ScriptedModel } from "./scripted-model.mjs";
import { countedTools } from "./tools.mjs";

/** Keeps what every turn answered and works out what all of them left behind. */
class Subject {
  #given;
  #textLength = 0;
  #lastText = "";

  constructor(given) {
    this.#given = given;
  }

  async turn(sessionId) {
    const text = await this.#given.runTurn("What should I pack?", sessionId);
    this.#textLength += text.length;
    this.#lastText = text;
  }

  async digest() {
    const { counter, model, tools, failures, sessions } = this.#given;
    return {
      counts: counter.counts(),
      requests: model.requests,
      messagesSent: model.messagesSent,
      executed: tools.executed(),
      textLength: this.#textLength,
      lastText: hashOf(this.#lastText),
      failures: failures.length,
      stored: storedDigest(await sessions()),
    };
  }

  async close() {
    await this.#given.close();
  }
}

/** The hand-written loop over a script. */
export async function bareSubject({ replies, waitMs }) {
  const model = new ScriptedModel(replies);
  const counter = new Counter();
  const tools = countedTools({ waitMs });
  const hook = {
    beforeModel: () => void (counter.beforeModel += 1),
    beforeTool: () => void (counter.beforeTool += 1),
    afterTool: () => void (counter.afterTool += 1),
  };
  const loop = new BareLoop({ model, tools: tools.list, observer: counter, hook });
  const runTurn = (input, sessionId) => loop.runTurn(input, sessionId);
  const sessions = async () => [...loop.sessions.values()];
  return new Subject({ runTurn, counter, model, tools, failures: [], sessions, close: async () => undefined });
}

/** An agent over the same script, wired as a user wires one. */
export async function enneadSubject({ replies, waitMs, config }) {
  const model = new ScriptedModel(replies);
  const counter = new Counter();
  const tools = countedTools({ waitMs });
  const failures = [];
  const ids = new Set();
  const store = new MemorySessionStore();
  const agent = await Agent.create({
    model,
    tools: tools.list.map((tool) => defineTool(tool)),
    observers: [counter],
    hooks: [
      defineHook("counter", {
        beforeModel: () => void (counter.beforeModel += 1),
        beforeTool: () => void (counter.beforeTool += 1),
        afterTool: () => void (counter.afterTool += 1),
      }),
    ],
    sessions: [store],
    config: { ...config, onSecondaryFailure: (failure) => void failures.push(failure) },
  });
  const runTurn = async (input, sessionId) => {
    ids.add(sessionId);
    const result = await agent.runTurn(input, sessionId);
    return result.text;
  };
  const sessions = () => Promise.all([...ids].map(async (id) => (await store.load(id)).messages));
  return new Subject({ runTurn, counter, model, tools, failures, sessions, close: () => agent.shutdown() });
}
