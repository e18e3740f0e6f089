import type { ModelResponse } from "../../domain/model.js";
import { expectEqual, expectThat } from "./expectations.js";
import { asJson } from "./is-json.js";
import {
  ask,
  askStreaming,
  callsOf,
  type ModelPortClaim,
  type ModelPortFixture,
  requestFor,
  sampleOf,
  takenBack,
} from "./model-fixture.js";

/** What must survive the way to a provider and back. */
export const modelWireClaims: readonly ModelPortClaim[] = [
  {
    id: "model-gives-reasoning-back",
    title: "reasoning goes back as it came, whether the reply was streamed or not, and each time the same",
    needs: "reasoning",
    async check(fixture) {
      const { reasoning, echoed } = sampleOf(fixture, "reasoned");
      const replies = [await ask(fixture, "reasoned")];
      if (fixture.model.chatStreaming !== undefined) replies.push(await askStreaming(fixture, "reasoned").response);
      const sent: unknown[] = [];
      for (const reply of [...replies, ...replies]) {
        expectEqual(thought(reply), reasoning, "the reasoning of the reply");
        const request = await sentBack(fixture, reply);
        for (const text of echoed) expectThat(strings(request).includes(text), "the reasoning goes back as it came");
        sent.push(asJson(request));
      }
      for (const request of sent) expectEqual(request, sent[0], "the request after the reply");
    },
  },
  {
    id: "model-calls-tools-by-name",
    title: "a tool whose name the provider does not take is called by its own name, and its reply may come back",
    needs: "names",
    async check(fixture) {
      const sample = sampleOf(fixture, "named");
      const reply = await ask(fixture, "named");
      expectEqual(callsOf(reply), sample.calls, "the calls of the reply");
      await ask(fixture, "text", takenBack(sample, reply));
    },
  },
  {
    id: "model-takes-a-choice-of-tool",
    title: "a tool may be forced; one that is not offered is not, and the call does not fail for it",
    needs: "calls",
    async check(fixture) {
      const sample = sampleOf(fixture, "calls");
      const forced = async (tool: string): Promise<ModelResponse> =>
        await ask(fixture, "calls", requestFor({ ...sample, options: { ...sample.options, toolChoice: { tool } } }));
      for (const { name } of sample.calls.slice(0, 1)) {
        const names = callsOf(await forced(name)).map((call) => call.name);
        expectThat(names.includes(name), "a tool that was forced is called");
      }
      await forced("a tool that nobody offers");
    },
  },
  {
    id: "model-keeps-its-key",
    title: "no error holds the key the model was given, not even where the provider repeats it",
    needs: "key",
    async check(fixture) {
      const { key } = fixture;
      expectThat(key !== undefined && key !== "", "the fixture has no key and does not declare it missing");
      const calls = [ask(fixture, "failure")];
      if (fixture.model.chatStreaming !== undefined) calls.push(askStreaming(fixture, "failure").response);
      for (const settled of await Promise.allSettled(calls)) {
        expectThat(settled.status === "rejected", "a call that fails rejects");
        expectThat(!everything(settled.reason).includes(key), "the error does not hold the key");
      }
    },
  },
];

/** The next request, with the reply in it, as it was sent. */
async function sentBack(fixture: ModelPortFixture, reply: ModelResponse): Promise<unknown> {
  expectThat(fixture.sent !== undefined, "the fixture has no sent and does not declare reasoning missing");
  await ask(fixture, "text", takenBack(sampleOf(fixture, "reasoned"), reply));
  return JSON.parse(fixture.sent()) as unknown;
}

/** All text of the reasoning. */
function thought({ parts }: ModelResponse): string {
  return parts.map((part) => (part.type === "reasoning" ? part.text : "")).join("");
}

/** Every text in a JSON value. */
function strings(value: unknown): readonly string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(strings) : [];
}

/** All that somebody who logs an error could write down, its causes included. */
function everything(error: unknown, depth = 0): string {
  if (!(error instanceof Error) || depth > 5) return JSON.stringify(error) ?? "";
  const { message, stack, cause } = error;
  return [message, stack, JSON.stringify(error), everything(cause, depth + 1)].join("\n");
}
