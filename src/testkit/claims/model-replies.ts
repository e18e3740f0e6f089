import type { Message } from "../../domain/message.js";
import type { ModelResponse } from "../../domain/model.js";
import { decodeResponse } from "../../domain/model-response.js";
import { StreamAccumulator } from "../../domain/stream.js";
import type { StreamChunk } from "../../domain/stream-chunk.js";
import { expectEqual, expectThat } from "./expectations.js";
import {
  ask,
  askStreaming,
  expectSilence,
  type ModelPortClaim,
  type ModelPortFixture,
  requestFor,
  sampleOf,
} from "./model-fixture.js";

/** What comes of a call that succeeds. */
export const modelReplyClaims: readonly ModelPortClaim[] = [
  {
    id: "model-replies",
    title: "a call resolves with the text it was answered with, and says why the reply ended",
    async check(fixture) {
      const response = await ask(fixture, "text");
      expectEqual(spoken(response), fixture.samples.text.text, "the text of the reply");
      expectThat(
        response.parts.every(({ type }) => type !== "toolCall"),
        "the reply asks for no tool",
      );
      expectThat(typeof response.finishReason === "string", "the reply has a finish reason");
    },
  },
  {
    id: "model-replies-are-json",
    title: "a response holds JSON only, and its parts are of known types",
    async check(fixture) {
      for (const name of shown(fixture)) {
        const response = await ask(fixture, name);
        decodeResponse(response, "the response");
        expectEqual(decoded(response), response, "the response after it was JSON");
      }
    },
  },
  {
    id: "model-streams-the-same",
    title: "a stream ends with the response that the same call gives at once",
    needs: "streaming",
    async check(fixture) {
      for (const name of shown(fixture)) {
        const once = await ask(fixture, name);
        expectEqual(await askStreaming(fixture, name).response, once, `the streamed ${name}`);
      }
    },
  },
  {
    id: "model-chunks-add-up",
    title: "the chunks of a stream add up to its response",
    needs: "streaming",
    async check(fixture) {
      for (const name of shown(fixture)) {
        const { chunks, response } = askStreaming(fixture, name);
        const { parts, finishReason, usage } = await response;
        const sum = added(chunks);
        expectEqual(sum.parts, parts, "the parts of the chunks");
        expectEqual(sum.usage, usage, "the usage of the chunks");
        expectEqual(sum.finishReason, finishReason, "the finish reason of the chunks");
      }
    },
  },
  {
    id: "model-chunks-finish-once",
    title: "a stream has exactly one finish, and nothing but usage comes behind it",
    needs: "streaming",
    async check(fixture) {
      for (const name of shown(fixture)) {
        const { chunks, response } = askStreaming(fixture, name);
        await response;
        // What a reset made void was another reply.
        const valid = chunks.slice(chunks.findLastIndex(({ type }) => type === "reset") + 1);
        const finish = valid.findIndex(({ type }) => type === "finish");
        const behind = valid.slice(finish + 1).filter(({ type }) => type !== "usage");
        expectThat(finish >= 0 && behind.length === 0, "one finish, with nothing but usage behind it");
      }
    },
  },
  {
    id: "model-is-silent-when-settled",
    title: "no chunk comes after a stream has settled",
    needs: "streaming",
    async check(fixture) {
      const { chunks, response } = askStreaming(fixture, "text");
      await response;
      await expectSilence(chunks);
    },
  },
  {
    id: "model-calls-tools",
    title: "calls come in their order, each with an id of its own, its name and its arguments as an object",
    needs: "calls",
    async check(fixture) {
      const { parts } = await ask(fixture, "calls");
      const calls = parts.flatMap((part) => (part.type === "toolCall" ? [part] : []));
      const told = calls.map(({ name, arguments: args }) => ({ name, arguments: args }));
      expectEqual(told, sampleOf(fixture, "calls").calls, "the calls of the reply");
      const ids = calls.map(({ id }) => id);
      expectThat(
        ids.every((id) => typeof id === "string" && id !== ""),
        "every call has an id",
      );
      expectThat(new Set(ids).size === ids.length, "no two calls have one id");
    },
  },
  {
    id: "model-takes-its-reply-back",
    title: "a reply of the model, as it gave it, and the results of its calls may be in the next request",
    needs: "calls",
    async check(fixture) {
      const sample = sampleOf(fixture, "calls");
      const reply = await ask(fixture, "calls");
      const request = requestFor({ ...sample, messages: [...requestFor(sample).messages, ...told(reply)] });
      await ask(fixture, "text", request);
    },
  },
  {
    id: "model-replies-concurrently",
    title: "calls that run at the same time are answered as one alone, and their chunks do not mix",
    async check(fixture) {
      const alone = await ask(fixture, "text");
      const together = await Promise.all(Array.from({ length: 4 }, () => ask(fixture, "text")));
      for (const response of together) expectEqual(response, alone, "a concurrent call");
      if (fixture.model.chatStreaming === undefined) return;
      const streams = Array.from({ length: 4 }, () => askStreaming(fixture, "text"));
      for (const { chunks, response } of streams) {
        await response;
        expectEqual(spoken(added(chunks)), spoken(alone), "the text of a concurrent stream");
      }
    },
  },
  {
    id: "model-counts-tokens",
    title: "usage, where there is any, holds whole numbers, and no part of a count is more than the whole",
    async check(fixture) {
      const { usage = {} } = await ask(fixture, "text");
      for (const [key, count] of Object.entries(usage)) {
        expectThat(Number.isSafeInteger(count) && count >= 0, `${key} is a whole number`);
      }
      const { inputTokens = Infinity, outputTokens = Infinity, cachedInputTokens = 0, reasoningTokens = 0 } = usage;
      expectThat(cachedInputTokens <= inputTokens, "cached tokens are a part of the input");
      expectThat(reasoningTokens <= outputTokens, "reasoning is a part of the output");
    },
  },
  {
    id: "model-knows-what-it-does-not-count",
    title: "usage that nobody reported is unknown, never 0",
    needs: "uncounted",
    async check(fixture) {
      const { usage = {} } = await ask(fixture, "uncounted");
      const known = Object.values(usage).filter((count: unknown) => count !== undefined);
      expectEqual(known.length, 0, "the number of counts nobody reported");
    },
  },
  {
    id: "model-describes-itself",
    title: "the description names provider and model, and stays the same",
    needs: "describe",
    async check(fixture) {
      const { model } = fixture;
      expectThat(model.describe !== undefined, "the model has no describe and does not declare it missing");
      const before = structuredClone(model.describe());
      expectThat(before.provider !== "" && before.model !== "", "provider and model have names");
      await ask(fixture, "text");
      expectEqual(model.describe(), before, "the description after a call");
    },
  },
  {
    id: "model-leaves-requests-alone",
    title: "a call changes nothing of its request",
    async check(fixture) {
      for (const name of shown(fixture)) {
        const request = requestFor(sampleOf(fixture, name));
        const { messages, tools, options } = request;
        const before = structuredClone({ messages, tools, options });
        await ask(fixture, name, request);
        if (fixture.model.chatStreaming !== undefined) await askStreaming(fixture, name, { request }).response;
        expectEqual({ messages, tools, options }, before, "the request after the call");
      }
    },
  },
];

/** The samples that are answered, as far as the fixture has them. */
function shown({ samples }: ModelPortFixture): readonly ("text" | "calls")[] {
  return samples.calls === undefined ? ["text"] : ["text", "calls"];
}

function spoken({ parts }: Pick<ModelResponse, "parts">): string {
  return parts.map((part) => (part.type === "text" ? part.text : "")).join("");
}

function added(chunks: readonly StreamChunk[]): ModelResponse {
  const accumulator = new StreamAccumulator();
  for (const chunk of chunks) accumulator.push(chunk);
  return accumulator.toResponse({ malformed: "mark" });
}

/** Fields that are undefined are none. */
function decoded(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}

/** The reply as it is stored, and a result for each of its calls. */
function told(reply: ModelResponse): readonly Message[] {
  const { parts, provider, model } = reply;
  const about = {
    ...(provider === undefined ? undefined : { provider }),
    ...(model === undefined ? undefined : { model }),
  };
  const message: Message = { role: "assistant", id: "m1", at: 0, parts: structuredClone(parts), ...about };
  const results = parts.flatMap((part, order): Message[] => {
    if (part.type !== "toolCall") return [];
    const content = [{ type: "text", text: "done" }] as const;
    const call = { toolCallId: part.id, toolName: part.name, isError: false, outcome: "completed" } as const;
    return [{ role: "tool", id: `m2.${order}`, at: 0, content, ...call }];
  });
  return [message, ...results];
}
