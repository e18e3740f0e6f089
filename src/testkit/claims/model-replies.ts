import { decodeResponse } from "../../domain/model-response.js";
import { expectEqual, expectThat } from "./expectations.js";
import { asJson, isJson } from "./is-json.js";
import {
  added,
  ask,
  askStreaming,
  callsOf,
  type ModelPortClaim,
  requestFor,
  sampleOf,
  shown,
  spoken,
  takenBack,
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
        expectThat(isJson(response), "the response is JSON");
      }
    },
  },
  {
    id: "model-calls-tools",
    title: "calls come in their order, each with an id of its own, its name and its arguments as an object",
    needs: "calls",
    async check(fixture) {
      const { parts } = await ask(fixture, "calls");
      expectEqual(callsOf({ parts }), sampleOf(fixture, "calls").calls, "the calls of the reply");
      const calls = parts.flatMap((part) => (part.type === "toolCall" ? [part] : []));
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
      await ask(fixture, "text", takenBack(sample, reply));
    },
  },
  {
    id: "model-says-it-was-cut",
    title: 'a reply that its limit cut off resolves with what came and the finish reason "length"',
    needs: "cut",
    async check(fixture) {
      const reply = await ask(fixture, "cut");
      expectEqual(spoken(reply), sampleOf(fixture, "cut").text, "the text of a reply that was cut off");
      expectEqual(reply.finishReason, "length", "the finish reason of a reply that was cut off");
    },
  },
  {
    id: "model-replies-concurrently",
    title: "calls that run at the same time are answered as one alone, and their chunks do not mix",
    async check(fixture) {
      const alone = await ask(fixture, "text");
      const together = await Promise.all(Array.from({ length: 4 }, () => ask(fixture, "text")));
      for (const response of together) expectEqual(asJson(response), asJson(alone), "a concurrent call");
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
