import { getEventListeners } from "node:events";
import { ModelError } from "../../domain/errors.js";
import type { StreamChunk } from "../../domain/stream-chunk.js";
import { expectSettled, settlesWithin } from "./expect-settled.js";
import { expectEqual, expectRejection, expectThat } from "./expectations.js";
import {
  ask,
  askStreaming,
  expectSilence,
  type ModelPortClaim,
  type ModelPortFixture,
  requestFor,
  sampleOf,
  soFar,
  spoken,
} from "./model-fixture.js";

/** What comes of a call that fails or is stopped. */
export const modelControlClaims: readonly ModelPortClaim[] = [
  {
    id: "model-fails-typed",
    title: "a call that fails rejects with a ModelError, streamed or not",
    needs: "failure",
    async check(fixture) {
      sampleOf(fixture, "failure");
      await expectRejection(() => ask(fixture, "failure"), ModelError, [], "a call that fails");
      if (fixture.model.chatStreaming === undefined) return;
      await expectRejection(() => askStreaming(fixture, "failure").response, ModelError, [], "a stream that fails");
    },
  },
  {
    id: "model-breaks-loudly",
    title: "a stream that breaks off after a piece of the reply rejects with a ModelError, and never resolves",
    needs: "broken",
    async check(fixture) {
      const { chunks, response } = askStreaming(fixture, "broken");
      await expectRejection(() => response, ModelError, [], "a stream that breaks off");
      expectThat(chunks.length > 0, "a piece of the reply came before it broke off");
    },
  },
  {
    id: "model-keeps-what-came",
    title: "the error of a stream that breaks off or is aborted holds what had come",
    needs: "partial",
    async check(fixture) {
      const broken = askStreaming(fixture, "broken");
      await expectPartial(broken.response, broken.chunks);
      if (fixture.samples.slow === undefined) return;
      const { chunks, controller, began, response } = slowStream(fixture);
      await began;
      controller.abort();
      if (await settlesWithin(response, fixture.deadlineMs ?? 1_000)) await expectPartial(response, chunks);
    },
  },
  {
    id: "model-settles-on-abort",
    title: 'an abort ends a running call soon, with ModelError("aborted"), streamed or not',
    needs: "abort",
    async check(fixture) {
      const within = fixture.deadlineMs ?? 1_000;
      if (fixture.model.chatStreaming !== undefined) {
        const streamed = slowStream(fixture);
        await streamed.began;
        streamed.controller.abort();
        await expectSettled(streamed.response, within, "an aborted stream settles");
        await expectRejection(() => streamed.response, ModelError, ["aborted"], "an aborted stream");
      }
      const controller = new AbortController();
      const call = ask(fixture, "slow", requestFor(sampleOf(fixture, "slow"), controller.signal));
      controller.abort();
      await expectSettled(call, within, "an aborted call settles");
      await expectRejection(() => call, ModelError, ["aborted"], "an aborted call");
    },
  },
  {
    id: "model-is-silent-when-aborted",
    title: "no chunk comes after an abort has ended a stream",
    needs: "abort",
    async check(fixture) {
      if (fixture.model.chatStreaming === undefined) return;
      const { chunks, controller, began, response } = slowStream(fixture);
      await began;
      controller.abort();
      // That it settles is another claim's business.
      await settlesWithin(response, fixture.deadlineMs ?? 1_000);
      await expectSilence(chunks);
    },
  },
  {
    id: "model-refuses-when-aborted",
    title: 'a call whose signal fired before it began rejects with ModelError("aborted")',
    async check(fixture) {
      const request = requestFor(fixture.samples.text, AbortSignal.abort());
      const call = ask(fixture, "text", request);
      await expectSettled(call, fixture.deadlineMs ?? 1_000, "a call aborted before settles");
      await expectRejection(() => call, ModelError, ["aborted"], "a call aborted before");
    },
  },
  {
    id: "model-leaves-no-listener",
    title: "a call that has settled, in whatever way, leaves no listener on its signal",
    async check(fixture) {
      const { samples, model } = fixture;
      const { signal } = new AbortController();
      await ask(fixture, "text", requestFor(samples.text, signal));
      if (model.chatStreaming !== undefined) {
        await askStreaming(fixture, "text", { request: requestFor(samples.text, signal) }).response;
      }
      if (samples.failure !== undefined) {
        await ask(fixture, "failure", requestFor(samples.failure, signal)).catch(() => undefined);
      }
      expectThat(getEventListeners(signal, "abort").length === 0, "no listener is left on the signal");
      if (samples.slow === undefined || model.chatStreaming === undefined) return;
      const { controller, began, response } = slowStream(fixture);
      await began;
      controller.abort();
      // That it settles is another claim's business.
      if (!(await settlesWithin(response, fixture.deadlineMs ?? 1_000))) return;
      expectThat(getEventListeners(controller.signal, "abort").length === 0, "no listener is left after an abort");
    },
  },
];

/** A stream that will not end by itself; `began` settles at its first chunk, or when it is too late for one. */
function slowStream(fixture: ModelPortFixture): {
  readonly chunks: readonly StreamChunk[];
  readonly controller: AbortController;
  readonly began: Promise<unknown>;
  readonly response: Promise<unknown>;
} {
  const controller = new AbortController();
  const first = Promise.withResolvers<void>();
  const request = requestFor(sampleOf(fixture, "slow"), controller.signal);
  const { chunks, response } = askStreaming(fixture, "slow", { request, onFirst: () => first.resolve() });
  const began = settlesWithin(Promise.race([first.promise, response]), fixture.deadlineMs ?? 1_000);
  return { chunks, controller, began, response };
}

/** That the call fails, and how, is another claim's business. */
async function expectPartial(call: Promise<unknown>, chunks: readonly StreamChunk[]): Promise<void> {
  const error = await call.catch((thrown: unknown) => thrown);
  if (!(error instanceof ModelError)) return;
  expectEqual(spoken({ parts: error.partial ?? [] }), spoken(soFar(chunks)), "the text that the error says had come");
}
