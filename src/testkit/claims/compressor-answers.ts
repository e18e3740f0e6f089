import { ModelError } from "../../domain/errors.js";
import type { CompressContext } from "../../ports/compressor.js";
import { ask, compressContext, type CompressorClaim, type CompressorFixture, isAction } from "./compressor-fixture.js";
import { sampleConversations, smallConversations } from "./compressor-samples.js";
import { settlesWithin } from "./expect-settled.js";
import { ClaimFailure, expectEqual, expectThat } from "./expectations.js";

const REASONS = ["before-model", "overflow", "requested"] as const satisfies readonly CompressContext["reason"][];

/** How a compressor answers. */
export const compressorAnswerClaims: readonly CompressorClaim[] = [
  {
    id: "compressor-is-named",
    title: "its name, if it has one, says something and stays the same",
    async check(fixture) {
      const { name } = fixture.compressor;
      const isName = name === undefined || (typeof name === "string" && name !== "");
      expectThat(isName, "the name is a text that says something");
      await ask(fixture, sampleConversations()[0]?.messages ?? []).catch(() => undefined);
      expectEqual(fixture.compressor.name, name, "the name after it was asked");
    },
  },
  {
    id: "compressor-answers-actions",
    title: "whatever the conversation and the reason, the answer is one of the four actions",
    async check(fixture) {
      for (const { name, messages } of [...smallConversations(), ...sampleConversations()]) {
        for (const reason of REASONS) {
          const answer = await ask(fixture, messages, { reason });
          expectThat(isAction(answer), `for ${name}, ${reason}: the answer is an action`);
        }
      }
    },
  },
  {
    id: "compressor-leaves-messages-alone",
    title: "the messages it is given are the same afterwards",
    async check(fixture) {
      for (const [index, { messages }] of sampleConversations().entries()) {
        await ask(fixture, structuredClone(messages)).catch(() => undefined);
        const given = structuredClone(messages);
        await ask(fixture, given).catch(() => undefined);
        expectEqual(given, sampleConversations()[index]?.messages, "the messages");
      }
    },
  },
  {
    id: "compressor-leaves-small-alone",
    title: "a conversation of a few words stays as it is before a model call",
    async check(fixture) {
      for (const { name, messages } of smallConversations()) {
        const answer = await ask(fixture, messages, { reason: "before-model" }).catch(() => undefined);
        expectThat(!isAction(answer) || answer.type === "none", `${name} stays as it is`);
      }
    },
  },
  {
    id: "compressor-answers-sessions-apart",
    title: "what it answers for one session does not depend on another that is asked about meanwhile",
    async check(fixture) {
      const [one, two] = sampleConversations();
      if (one === undefined || two === undefined) throw new ClaimFailure("there are samples");
      const alone = [await shown(fixture, one.messages, "a"), await shown(fixture, two.messages, "b")];
      const together = await Promise.all([shown(fixture, one.messages, "c"), shown(fixture, two.messages, "d")]);
      expectEqual(together, alone, "the answers");
    },
  },
  {
    id: "compressor-aborts",
    title: "it settles soon after the signal fires, whatever it waits for",
    needs: "waits",
    async check(fixture) {
      if (fixture.hang === undefined) throw new ClaimFailure("the fixture has hang, or waits is declared missing");
      await fixture.hang();
      const abort = new AbortController();
      const { messages } = sampleConversations()[0] ?? { messages: [] };
      const given = compressContext(messages, { ...fixture.context, signal: abort.signal });
      const asked = (async () => fixture.compressor.compress([...messages], given))();
      expectThat(!(await settlesWithin(asked, 20)), "it waits, so that an abort means something");
      abort.abort();
      const { deadlineMs = 1_000 } = fixture;
      expectThat(await settlesWithin(asked, deadlineMs), `it has settled ${deadlineMs} ms after the abort`);
    },
  },
  {
    id: "compressor-fails-typed",
    title: "what it asks and does not get is answered with none, or rejected as a ModelError; it proposes nothing",
    needs: "fails",
    async check(fixture) {
      if (fixture.break === undefined) throw new ClaimFailure("the fixture has break, or fails is declared missing");
      await fixture.break();
      const { messages } = sampleConversations()[0] ?? { messages: [] };
      let answer: unknown;
      try {
        answer = await ask(fixture, messages);
      } catch (error) {
        expectThat(error instanceof ModelError, "it rejects with a ModelError");
        return;
      }
      expectThat(isAction(answer) && answer.type === "none", "it proposes nothing");
    },
  },
];

/** The texts of an answer, without the ids and names it may make up; nothing for a rejection. */
async function shown(
  fixture: CompressorFixture,
  messages: Parameters<typeof ask>[1],
  sessionId: string,
): Promise<unknown> {
  const answer = await ask(fixture, messages, { sessionId }).catch(() => undefined);
  if (!isAction(answer) || answer.type === "none") return answer;
  return answer.messages.map((message) =>
    "content" in message ? message.content : "parts" in message ? message.parts : message.role,
  );
}
