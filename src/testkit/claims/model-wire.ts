import type { TextPart } from "../../domain/message.js";
import type { ModelResponse } from "../../domain/model.js";
import type { ChatRequest } from "../../ports/model.js";
import { expectEqual, expectThat } from "./expectations.js";
import { asJson } from "./is-json.js";
import {
  ask,
  askStreaming,
  callsOf,
  type ModelPortClaim,
  type ModelPortCapability,
  type ModelPortFixture,
  type ModelSamples,
  requestFor,
  type SampleRequest,
  sampleOf,
  takenBack,
} from "./model-fixture.js";

/** What must survive the way to a provider and back. */
export const modelWireClaims: readonly ModelPortClaim[] = [
  {
    id: "model-sends-what-it-is-asked",
    title: "every message, tool and option of a request is sent, the conversation in its order",
    needs: "sent",
    async check(fixture) {
      for (const attempt of [ask, streamed]) {
        await attempt(fixture, "text", requestFor(WHOLE));
        const sent = sentBy(fixture, "sent");
        for (const text of [RULE, ...SAID, ...OFFERED]) expectThat(sent.includes(text), `${text} is sent`);
        const inOrder = SAID.toSorted((a, b) => sent.indexOf(a) - sent.indexOf(b));
        expectEqual(inOrder, SAID, "the conversation in what is sent");
        const numbers = leaves(JSON.parse(sent)).filter((leaf) => typeof leaf === "number");
        for (const [name, option] of Object.entries(WHOLE.options))
          expectThat(numbers.includes(option), `the option ${name} is sent`);
      }
    },
  },
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
        await ask(fixture, "text", takenBack(sampleOf(fixture, "reasoned"), reply));
        const request = JSON.parse(sentBy(fixture, "reasoning")) as unknown;
        for (const text of echoed) expectThat(leaves(request).includes(text), "the reasoning goes back as it came");
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

const RULE = "said-by-system";
/** What is said, each text once, in this order; a provider may have another place for rules. */
const SAID = ["said-by-user", "said-by-model", "asked-of-tool", "said-by-tool", "said-at-last"] as const;
/** What of a tool a model must know. */
const OFFERED = ["described-tool", "described_field"] as const;

const text = (said: string): readonly [TextPart] => [{ type: "text", text: said }];
const call = { id: "call-1", name: "offered_tool", arguments: { asked: SAID[2] } };

/** A request in which everything can be found again. */
const WHOLE = {
  messages: [
    { role: "system", id: "m0", at: 0, content: text(RULE) },
    { role: "user", id: "m1", at: 0, content: text(SAID[0]) },
    { role: "assistant", id: "m2", at: 0, parts: [...text(SAID[1]), { type: "toolCall", ...call }] },
    {
      role: "tool",
      id: "m3",
      at: 0,
      toolCallId: call.id,
      toolName: call.name,
      content: text(SAID[3]),
      isError: false,
      outcome: "completed",
    },
    { role: "user", id: "m4", at: 0, content: text(SAID[4]) },
  ],
  tools: [
    {
      name: call.name,
      description: OFFERED[0],
      inputSchema: { type: "object", properties: { [OFFERED[1]]: { type: "string" } } },
    },
  ],
  options: { maxOutputTokens: 1234, temperature: 0.125 },
} satisfies SampleRequest;

async function streamed(
  fixture: ModelPortFixture,
  name: keyof ModelSamples,
  request: ChatRequest,
): Promise<ModelResponse | undefined> {
  return fixture.model.chatStreaming && (await askStreaming(fixture, name, { request }).response);
}

function sentBy(fixture: ModelPortFixture, capability: ModelPortCapability): string {
  expectThat(fixture.sent !== undefined, `the fixture has no sent and does not declare ${capability} missing`);
  return fixture.sent();
}

/** All text of the reasoning. */
function thought({ parts }: ModelResponse): string {
  return parts.map((part) => (part.type === "reasoning" ? part.text : "")).join("");
}

/** Every text, number and the like in a JSON value. */
function leaves(value: unknown): readonly unknown[] {
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(leaves) : [value];
}

/** All that somebody who logs an error could write down, its causes included. */
function everything(error: unknown, depth = 0): string {
  if (!(error instanceof Error) || depth > 5) return JSON.stringify(error) ?? "";
  const { message, stack, cause } = error;
  return [message, stack, JSON.stringify(error), everything(cause, depth + 1)].join("\n");
}
