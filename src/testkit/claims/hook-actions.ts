import { getEventListeners } from "node:events";
import type { StageContext } from "../../ports/hook.js";
import { expectSettled, settlesWithin } from "./expect-settled.js";
import { ClaimFailure, expectEqual, expectThat } from "./expectations.js";
import {
  actsOf,
  askHook,
  type HookAnswer,
  type HookMoment,
  momentsOf,
  type PipelineHookClaim,
  type PipelineHookFixture,
} from "./hook-fixture.js";
import { isJson } from "./is-json.js";

/** What a hook does through its context, and at the moments it is there for. */
export const hookActionClaims: readonly PipelineHookClaim[] = [
  {
    id: "hook-names-steps-apart",
    title: "no two steps of one stage have the same name",
    async check(fixture) {
      await eachAnswer(fixture, ({ steps }, kind) => {
        const names = steps.map(({ name }) => name);
        expectThat(
          names.every((name) => typeof name === "string" && name !== ""),
          `the steps at ${kind} have names`,
        );
        expectThat(new Set(names).size === names.length, `no name of a step comes twice at ${kind}`);
      });
    },
  },
  {
    id: "hook-steps-give-json",
    title: "a step gives JSON, which a journal can replay",
    async check(fixture) {
      await eachAnswer(fixture, ({ steps }, kind) => {
        for (const { value } of steps) expectThat(isJson(value), `what a step at ${kind} gives is JSON`);
      });
    },
  },
  {
    id: "hook-emits-json",
    title: "an event it publishes has a label and JSON data",
    async check(fixture) {
      await eachAnswer(fixture, ({ emitted }, kind) => {
        for (const { label, data } of emitted) {
          expectThat(typeof label === "string" && label !== "", `an event at ${kind} has a label`);
          expectThat(
            isJson(data) && typeof data === "object" && data !== null,
            `the data of an event at ${kind} is a JSON object`,
          );
        }
      });
    },
  },
  {
    id: "hook-cleans-up",
    title: "what it leaves for the end of the round runs without a throw",
    async check(fixture) {
      await eachAnswer(fixture, async ({ leftOver }, kind) => {
        const failed = await runAll(leftOver);
        expectThat(failed === 0, `a function that ${kind} gave to onSettled throws nothing`);
      });
    },
  },
  {
    id: "hook-leaves-no-listener",
    title: "once the round has ended, no listener is left on the turn's signal",
    async check(fixture) {
      const { signal } = new AbortController();
      for (const { stage, context } of momentsOf(fixture)) {
        const answer = await askHook(fixture, { stage, context: { ...context, signal } });
        await runAll(answer.leftOver);
        // One that waits for ever is another claim's business.
        if (!answer.settled) return;
      }
      expectThat(getEventListeners(signal, "abort").length === 0, "no listener is left on the signal");
    },
  },
  {
    id: "hook-acts",
    title: "at the moments it is there for it asks for what it says",
    needs: "acts",
    async check(fixture) {
      for (const { stage, context, outcome } of actsOf(fixture)) {
        const answer = await askHook(fixture, { stage, context });
        expectThat(answer.outcome?.kind === outcome, `onStage asks for ${outcome} at ${stage.kind}`);
      }
    },
  },
  {
    id: "hook-serves-turns-at-once",
    title: "several turns that ask at once get what each would get alone",
    needs: "acts",
    async check(fixture) {
      for (const moment of actsOf(fixture)) {
        const alone = await askHook(fixture, inTurn(moment, 0));
        const together = await Promise.all([1, 2, 3, 4].map((turn) => askHook(fixture, inTurn(moment, turn))));
        for (const { outcome } of together)
          expectEqual(outcome, alone.outcome, `${moment.stage.kind} in one of several turns`);
      }
    },
  },
  {
    id: "hook-takes-a-decision",
    title: "a call it had deferred, and that was approved as it stands, is not deferred again (U5)",
    needs: "defers",
    async check(fixture) {
      const { hook } = fixture;
      const deferring = (fixture.acts ?? []).filter(({ outcome }) => outcome === "defer");
      if (deferring.length === 0)
        throw new ClaimFailure("one of the acts is defer, or the capability defers is declared missing");
      for (const { stage, context } of deferring) {
        expectThat(stage.kind === "beforeTool", "only beforeTool can defer");
        const approved: Partial<StageContext> = {
          decision: { callId: stage.call.id, approve: true },
          deferredBy: [hook.name ?? "hook-0"],
          approvedCall: stage.call,
        };
        const { outcome } = await askHook(fixture, { stage, context: { ...context, ...approved } });
        expectThat(outcome?.kind !== "defer", "an approved call is not deferred again");
      }
    },
  },
  {
    id: "hook-settles-on-abort",
    title: "a hook that waits settles soon after the signal fires, and keeps no listener",
    needs: "abort",
    async check(fixture) {
      const { waits, deadlineMs = 1_000 } = fixture;
      if (waits === undefined)
        throw new ClaimFailure("the fixture gives waits, or the capability abort is declared missing");
      const controller = new AbortController();
      const { signal } = controller;
      const waiting = askHook(
        { ...fixture, deadlineMs: 3 * deadlineMs },
        { ...waits, context: { ...waits.context, signal } },
      );
      const isOver = await settlesWithin(waiting, Math.min(deadlineMs, 20));
      expectThat(!(isOver && (await waiting).settled), "it waits for the signal");
      controller.abort();
      await expectSettled(waiting, deadlineMs, "a hook that waits settles after an abort");
      // The asking may have been given up first.
      const { settled, leftOver } = await waiting;
      expectThat(settled, `a hook that waits settles after an abort within ${deadlineMs} ms`);
      await runAll(leftOver);
      expectThat(getEventListeners(signal, "abort").length === 0, "no listener is left after an abort");
    },
  },
];

/** Asks at every moment; those that end in a throw are another claim's business. */
async function eachAnswer(
  fixture: PipelineHookFixture,
  look: (answer: HookAnswer, kind: string) => void | Promise<void>,
): Promise<void> {
  for (const moment of momentsOf(fixture)) await look(await askHook(fixture, moment), moment.stage.kind);
}

function inTurn({ stage, context }: HookMoment, turn: number): HookMoment {
  const own = { turnId: `turn-${turn}`, sessionId: `session-${turn}`, signal: new AbortController().signal };
  return { stage, context: { ...context, ...own } };
}

/** How many of them failed. */
async function runAll(leftOver: HookAnswer["leftOver"]): Promise<number> {
  let failed = 0;
  for (const run of leftOver) {
    try {
      await run();
    } catch {
      failed += 1;
    }
  }
  return failed;
}
