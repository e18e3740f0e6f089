import { getEventListeners } from "node:events";
import { setImmediate } from "node:timers/promises";
import type { CommandOutcome, UiHint } from "../../domain/command.js";
import { CommandError } from "../../domain/errors.js";
import { unreachable } from "../../domain/unreachable.js";
import {
  type CommandPortClaim,
  type CommandPortFixture,
  invocationsOf,
  invoke,
  type SampleInvocation,
  sampleFor,
} from "./command-fixture.js";
import { expectSettled } from "./expect-settled.js";
import { expectEqual, expectRejection, expectThat } from "./expectations.js";
import { isJson } from "./is-json.js";

/** Names that are found on every plain object. */
const INHERITED_NAMES = ["__proto__", "constructor", "toString", "hasOwnProperty"];
const HOSTILE_NAME = "no\u001b[2J\u0000 \u202esuch\ncommand";
const CONTROLS = /[\p{Cc}\u2028-\u202e\u2066-\u2069]/u;
const UI_HINTS: { readonly [H in UiHint]: true } = {
  "refresh-models": true,
  "refresh-settings": true,
  "close-panel": true,
  toast: true,
};

/** How commands are called. */
export const commandInvocationClaims: readonly CommandPortClaim[] = [
  {
    id: "commands-refuse-unknown-ids",
    title: 'an id that is not listed rejects with CommandError("not-found")',
    async check(fixture) {
      await expectRejection(
        () => invoke(fixture, { id: "no-such-command" }),
        CommandError,
        ["not-found"],
        "an unlisted id",
      );
    },
  },
  {
    id: "commands-refuse-inherited-ids",
    title: "names that every object inherits are unknown ids too",
    async check(fixture) {
      for (const id of INHERITED_NAMES)
        await expectRejection(() => invoke(fixture, { id }), CommandError, ["not-found"], id);
    },
  },
  {
    id: "commands-escape-unknown-ids",
    title: "an error quotes an id without its control characters",
    async check(fixture) {
      const message = await invoke(fixture, { id: HOSTILE_NAME }).then(() => "", messageOf);
      expectThat(!CONTROLS.test(message), "the message has no control characters");
    },
  },
  {
    id: "commands-run",
    title: "a listed command ends in the outcome it is said to end in",
    needs: "commands",
    async check(fixture) {
      for (const sample of invocationsOf(fixture)) {
        const { type } = await invoke(fixture, sample);
        expectEqual(type, sample.outcome, `the outcome of ${sample.id}`);
      }
    },
  },
  {
    id: "commands-say-what-came-of-it",
    title: "an outcome holds what its type promises, as JSON",
    needs: "commands",
    async check(fixture) {
      await eachOutcome(fixture, expectWhole);
    },
  },
  {
    id: "commands-run-at-once",
    title: "calls at once end as one alone does",
    needs: "commands",
    async check(fixture) {
      for (const sample of invocationsOf(fixture)) {
        const alone = await ended(fixture, sample);
        const together = await Promise.all([1, 2, 3, 4].map(() => ended(fixture, sample)));
        for (const outcome of together) expectEqual(outcome, alone, `one of several calls of ${sample.id}`);
      }
    },
  },
  {
    id: "commands-leave-arguments-alone",
    title: "a call changes nothing in its arguments",
    needs: "commands",
    async check(fixture) {
      for (const sample of invocationsOf(fixture)) {
        const args = structuredClone(sample.args ?? {});
        const own: CommandPortFixture = { ...fixture, commands: callingWith(fixture, args) };
        await ended(own, sample);
        expectEqual(args, sample.args ?? {}, `the arguments of ${sample.id}`);
      }
    },
  },
  {
    id: "commands-take-callers-without-a-session",
    title: "a caller without a session gets an outcome, or a CommandError",
    needs: "commands",
    async check(fixture) {
      for (const { id, args } of invocationsOf(fixture)) {
        const error = await invoke(fixture, { id, args }).then(
          () => undefined,
          (thrown: unknown) => ({ thrown }),
        );
        expectThat(
          error === undefined || error.thrown instanceof CommandError,
          `${id} takes a caller without a session`,
        );
      }
    },
  },
  {
    id: "commands-leave-no-listener",
    title: "a call that has settled leaves no listener on its signal",
    needs: "commands",
    async check(fixture) {
      const { signal } = new AbortController();
      for (const sample of invocationsOf(fixture)) await invoke(fixture, sample, { signal }).catch(() => undefined);
      expectThat(getEventListeners(signal, "abort").length === 0, "no listener is left on the signal");
    },
  },
  {
    id: "commands-fail-typed",
    title: "a command that fails rejects with a CommandError",
    needs: "failure",
    async check(fixture) {
      const sample = sampleFor(fixture, "failing", "failure");
      await expectRejection(() => invoke(fixture, sample), CommandError, [], "a command that fails");
    },
  },
  {
    id: "commands-refuse-bad-arguments",
    title: 'arguments that the definition refuses reject with CommandError("invalid-args")',
    needs: "validation",
    async check(fixture) {
      const sample = sampleFor(fixture, "invalid", "validation");
      await expectRejection(() => invoke(fixture, sample), CommandError, ["invalid-args"], "bad arguments");
    },
  },
  {
    id: "commands-settle-on-abort",
    title: "a running call settles soon after its signal fires",
    needs: "abort",
    async check(fixture) {
      const controller = new AbortController();
      const running = invoke(fixture, sampleFor(fixture, "slow", "abort"), { signal: controller.signal });
      // One turn of the event loop lets the call begin.
      await setImmediate();
      controller.abort();
      await expectSettled(running, fixture.deadlineMs ?? 1_000, "an aborted call settles");
    },
  },
  {
    id: "commands-settle-when-aborted-before",
    title: "a call whose signal fired before it began settles soon",
    needs: "abort",
    async check(fixture) {
      const running = invoke(fixture, sampleFor(fixture, "slow", "abort"), { signal: AbortSignal.abort() });
      await expectSettled(running, fixture.deadlineMs ?? 1_000, "a call that was aborted before settles");
    },
  },
];

/** Looks at every outcome; a sample that rejects is another claim's business. */
async function eachOutcome(
  fixture: CommandPortFixture,
  look: (outcome: CommandOutcome, id: string) => void,
): Promise<void> {
  for (const sample of invocationsOf(fixture)) {
    const outcome = await invoke(fixture, sample).catch(() => undefined);
    if (outcome !== undefined) look(outcome, sample.id);
  }
}

/** The outcome, or what it rejected with as text. */
function ended(fixture: CommandPortFixture, sample: SampleInvocation): Promise<unknown> {
  return invoke(fixture, sample).catch(messageOf);
}

/** The same port, given these very arguments. */
function callingWith({ commands }: CommandPortFixture, args: object): CommandPortFixture["commands"] {
  return {
    commands: () => commands.commands(),
    invoke: (id, _copy, context) => commands.invoke(id, args as Parameters<typeof commands.invoke>[1], context),
  };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function expectWhole(outcome: CommandOutcome, id: string): void {
  expectThat(isJson(outcome), `the outcome of ${id} is JSON`);
  switch (outcome.type) {
    case "success":
      expectThat(typeof outcome.feedback === "string", `${id} gives feedback`);
      expectThat(
        outcome.uiHint === undefined || Object.hasOwn(UI_HINTS, outcome.uiHint),
        `the hint of ${id} is a known one`,
      );
      return;
    case "failure":
      expectThat(typeof outcome.reason === "string" && outcome.reason !== "", `${id} says why it failed`);
      return;
    case "needsInput":
      expectThat(typeof outcome.prompt === "string" && outcome.prompt !== "", `${id} says what it asks for`);
      return;
    default:
      unreachable(outcome);
  }
}
