import { describe, expect, it } from "vitest";
import { ConsoleObserver, type ConsoleObserverOptions } from "../../../src/adapters/observers/console.js";
import type { EventBodies, TurnEvent, TurnEventType, TurnSummary } from "../../../src/domain/event.js";
import type { JsonObject } from "../../../src/domain/json.js";
import { errorResult, okResult, type ToolExchange, type ToolResult } from "../../../src/domain/tool.js";
import { observerClaims, runClaims } from "../../../src/testkit/index.js";

class View {
  #shown = "";
  #seq = 0;
  readonly #observer: ConsoleObserver;

  constructor(options: ConsoleObserverOptions = {}) {
    this.#observer = new ConsoleObserver({ ...options, write: (text) => (this.#shown += text) });
  }

  /** What was written since the last call. */
  take(): string {
    const shown = this.#shown;
    this.#shown = "";
    return shown;
  }

  event<T extends TurnEventType>(type: T, body: EventBodies[T], turnId = "t1"): this {
    const stamp = { seq: this.#seq++, turnId, sessionId: "s1", at: 0, attempt: 0 };
    this.#observer.onEvent({ type, ...stamp, ...body } as unknown as TurnEvent);
    return this;
  }

  text(text: string, messageId = "t1.1"): this {
    return this.event("streamChunk", { messageId, chunk: { type: "textDelta", text } });
  }

  response(text: string, id = "t1.1"): this {
    const parts = [{ type: "text", text }] as const;
    return this.event("modelResponse", { message: { id, at: 0, role: "assistant", parts }, finishReason: "stop" });
  }

  started(toolName: string, executedInput: JsonObject): this {
    const call = { executionId: "t1.1.0", sourceOrder: 0, callId: "c1", toolName, executionMode: "parallel" } as const;
    return this.event("toolCallStarted", { invocation: { ...call, originalInput: executedInput, executedInput } });
  }

  ended(toolName: string, result: ToolResult, outcome: ToolExchange["outcome"] = "completed"): this {
    const exchange: ToolExchange = {
      ...{ executionId: "t1.1.0", sourceOrder: 0, callId: "c1", toolName, originalInput: {} },
      ...{ call: { id: "c1", name: toolName, arguments: {} }, executionMode: "parallel", cancellationRequested: false },
      ...{ outcome, result },
    };
    return this.event("toolCallResult", { exchange, isError: result.isError });
  }
}

const summary: TurnSummary = {
  status: "completed",
  rounds: 2,
  messages: 4,
  toolCalls: 1,
  usage: { inputTokens: 12, outputTokens: 3 },
  deferred: [],
  finalSessionId: "s1",
};

describe("ConsoleObserver keeps the claims of its port", () => {
  runClaims({
    test: it,
    claims: observerClaims,
    make: () => ({ observer: new ConsoleObserver({ write: () => undefined, colour: true, reasoning: true }) }),
  });
});

describe("ConsoleObserver", () => {
  it("writes answer text as it arrives, and once", () => {
    const view = new View();
    expect(view.text("Hel").take()).toBe("Hel");
    expect(view.text("lo").take()).toBe("lo");
    expect(view.response("Hello").take()).toBe("\n");
  });

  it("writes the whole answer of a model that does not stream", () => {
    expect(new View().response("Hello").take()).toBe("Hello\n");
  });

  it("shows a tool when it starts and when it ends, on lines of their own", () => {
    const view = new View().text("Let me see");
    expect(view.take()).toBe("Let me see");
    expect(view.started("read_file", { path: "a.ts" }).take()).toBe('\n→ read_file {"path":"a.ts"}\n');
    expect(view.ended("read_file", okResult("line 1\nline 2")).take()).toBe("✓ read_file: line 1 line 2\n");
    expect(view.ended("read_file", errorResult("no such file"), "failed").take()).toBe("✗ read_file: no such file\n");
    expect(view.ended("pay", errorResult("aborted"), "unknown").take()).toBe("✗ pay (cut off): aborted\n");
    expect(view.ended("pay", errorResult("no"), "not-started").take()).toBe("✗ pay (did not run): no\n");
    expect(view.ended("sum", okResult([], { structured: { n: 2 } })).take()).toBe('✓ sum: {"n":2}\n');
  });

  it("ends a turn with its figures, and never shows an unknown count as zero", () => {
    const view = new View();
    expect(view.event("turnCompleted", { summary }).take()).toBe(
      "— completed, 2 rounds, 1 tool call, 12 tokens in, 3 out\n",
    );
    const unknown = { ...summary, usage: {}, status: "aborted" } as const;
    expect(view.text("half").event("turnAborted", { reason: "by hand", summary: unknown }).take()).toBe(
      "half\n— aborted (by hand): 2 rounds, 1 tool call, no token count\n",
    );
    expect(view.event("turnFailed", { category: "ModelError(auth)" }).take()).toBe("— failed: ModelError(auth)\n");
  });

  it("says that an answer starts over, and shows the new one", () => {
    const view = new View().text("wro");
    view
      .event("streamChunk", { messageId: "t1.1", chunk: { type: "reset", reason: "retry" } })
      .text("right")
      .response("right");
    expect(view.take()).toBe("wro\n↻ starting over: retry\nright\n");
  });

  it("shows the text of the response that came after a reset without any new piece", () => {
    const view = new View().text("secret");
    view
      .event("streamChunk", { messageId: "t1.1", chunk: { type: "reset", reason: "rewritten" } })
      .response("[hidden]");
    expect(view.take()).toBe("secret\n↻ starting over: rewritten\n[hidden]\n");
  });

  it("shows reasoning only when asked", () => {
    const chunk = { type: "reasoningDelta", text: "hm" } as const;
    expect(new View().event("streamChunk", { messageId: "m", chunk }).take()).toBe("");
    expect(new View({ reasoning: true }).event("streamChunk", { messageId: "m", chunk }).take()).toBe("hm");
  });

  it("colours only when asked", () => {
    expect(new View({ colour: true }).started("x", {}).take()).toBe("\u001b[36m→ x {}\u001b[0m\n");
  });

  it("keeps a tool line within the width it is told", () => {
    const view = new View({ width: () => 30 }).ended("read_file", okResult("x".repeat(500)));
    expect(view.take()).toBe(`✓ read_file: ${"x".repeat(15)}…\n`);
  });
});

describe("ConsoleObserver on hostile text", () => {
  const attack = "\u001b]0;owned\u0007\u001b[2J\u009b31m\r\u202eevil\u0000";

  it("lets no control character of answers, tools or reasons through", () => {
    const view = new View({ reasoning: true })
      .text(attack)
      .response(attack, "other")
      .started(attack, { path: attack })
      .ended(attack, okResult(attack))
      .event("toolCallDeferred", { call: { id: "c", name: attack, arguments: {} }, reason: attack })
      .event("streamChunk", { messageId: "m", chunk: { type: "reasoningDelta", text: attack } })
      .event("streamChunk", { messageId: "m", chunk: { type: "reset", reason: attack } })
      .event("sessionRedirect", { from: "a", to: attack, messagesBefore: 1, messagesAfter: 1 })
      .event("turnStopped", { reason: attack, summary })
      .event("turnFailed", { category: attack });
    const shown = view.take();
    expect(shown).toContain("evil");
    expect(shown).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/u);
  });

  it("removes an escape sequence and keeps an emoji that are cut over pieces", () => {
    const view = new View().text("a\u001b").text("[3").text("1mb\ud83d").text("\ude00").response("");
    expect(view.take()).toBe("ab😀\n");
  });

  it("does not let a tool result pretend to be another line", () => {
    expect(new View().ended("read_file", okResult("x\n✓ pay: done")).take()).toBe("✓ read_file: x ✓ pay: done\n");
  });
});
