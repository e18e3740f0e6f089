import { randomUUID } from "node:crypto";
import { Value } from "@sinclair/typebox/value";

/**
 * An agent loop as one application would write it for itself, without a framework: it streams, accumulates, parses and validates
 * arguments, runs tools side by side, turns what they throw into error results, tells an observer, asks a hook, and keeps sessions.
 */
export class BareLoop {
  sessions = new Map();
  #model;
  #tools;
  #observer;
  #hook;

  constructor({ model, tools, observer, hook }) {
    this.#model = model;
    this.#tools = new Map(tools.map((tool) => [tool.name, tool]));
    this.#observer = observer;
    this.#hook = hook;
  }

  /** Runs one turn and resolves with the text of its last reply. */
  async runTurn(input, sessionId) {
    const messages = this.#session(sessionId);
    const user = { role: "user", content: [{ type: "text", text: input }], id: randomUUID(), at: Date.now() };
    messages.push(user);
    this.#observer.onEvent({ type: "messageAdded", message: user });
    for (let round = 1; ; round++) {
      const reply = await this.#ask(messages, round);
      messages.push(reply.message);
      this.#observer.onEvent({ type: "modelResponse", message: reply.message });
      if (reply.calls.length === 0) return reply.text;
      const results = await Promise.all(reply.calls.map((call) => this.#run(call)));
      for (const result of results) messages.push(result);
    }
  }

  #session(id) {
    let messages = this.sessions.get(id);
    if (messages === undefined) this.sessions.set(id, (messages = []));
    return messages;
  }

  async #ask(messages, round) {
    this.#hook.beforeModel(messages);
    const observer = this.#observer;
    const streamed = [];
    let text = "";
    let usage;
    let finishReason;
    await this.#model.stream({ messages, tools: this.#tools, round }, (chunk) => {
      switch (chunk.type) {
        case "textDelta":
          text += chunk.text;
          break;
        case "toolCallDelta": {
          const call = (streamed[chunk.index] ??= { id: chunk.id, name: chunk.name, json: "" });
          if (chunk.argumentsDelta !== undefined) call.json += chunk.argumentsDelta;
          break;
        }
        case "usage":
          usage = chunk.usage;
          break;
        case "finish":
          finishReason = chunk.reason;
          break;
      }
      observer.onEvent({ type: "streamChunk", chunk });
    });
    const calls = streamed.map(({ id, name, json }) => ({ type: "toolCall", id, name, arguments: JSON.parse(json) }));
    const parts = text === "" ? calls : [{ type: "text", text }, ...calls];
    return {
      text,
      calls,
      message: { role: "assistant", parts, finishReason, usage, id: randomUUID(), at: Date.now() },
    };
  }

  async #run(call) {
    let text;
    let isError = false;
    try {
      const tool = this.#tools.get(call.name);
      if (tool === undefined) throw new Error(`there is no tool ${call.name}`);
      if (!Value.Check(tool.parameters, call.arguments)) throw new Error(`invalid arguments for ${call.name}`);
      this.#hook.beforeTool(call);
      this.#observer.onEvent({ type: "toolCallStarted", call });
      text = await tool.execute(call.arguments);
    } catch (error) {
      text = String(error);
      isError = true;
    }
    this.#hook.afterTool(call, text);
    const content = [{ type: "text", text }];
    const result = { role: "tool", toolCallId: call.id, toolName: call.name, content, isError };
    const message = { ...result, id: randomUUID(), at: Date.now() };
    this.#observer.onEvent({ type: "toolCallResult", message });
    return message;
  }
}
