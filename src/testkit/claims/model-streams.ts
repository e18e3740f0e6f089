import { expectEqual, expectThat } from "./expectations.js";
import { asJson } from "./is-json.js";
import { added, ask, askStreaming, expectSilence, type ModelPortClaim, shown } from "./model-fixture.js";

/** What comes of a stream that succeeds. */
export const modelStreamClaims: readonly ModelPortClaim[] = [
  {
    id: "model-streams-the-same",
    title: "a stream ends with the response that the same call gives at once",
    needs: "streaming",
    async check(fixture) {
      for (const name of shown(fixture)) {
        const once = await ask(fixture, name);
        const streamed = await askStreaming(fixture, name).response;
        expectEqual(asJson(streamed), asJson(once), `the streamed ${name}`);
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
        expectEqual(asJson(sum.parts), asJson(parts), "the parts of the chunks");
        expectEqual(asJson(sum.usage), asJson(usage), "the usage of the chunks");
        expectEqual(sum.finishReason, finishReason, "the finish reason of the chunks");
      }
    },
  },
  {
    id: "model-chunks-stay",
    title: "a chunk that was handed over stays as it was: nothing of it is used again for the next",
    needs: "streaming",
    async check(fixture) {
      for (const name of shown(fixture)) {
        const { chunks, given, response } = askStreaming(fixture, name);
        await response;
        expectEqual(given, chunks, `the chunks of ${name} when the stream has ended`);
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
];
