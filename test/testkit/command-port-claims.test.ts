import { describe, test } from "vitest";
import { NoopCommands } from "../../src/adapters/commands/noop.js";
import { CommandRegistry } from "../../src/adapters/commands/registry.js";
import { sessionCommands } from "../../src/adapters/commands/session-commands.js";
import { terminalCommands } from "../../src/adapters/hosts/terminal-commands.js";
import type { CommandArgs, CommandDef, CommandOutcome } from "../../src/domain/command.js";
import { CommandError } from "../../src/domain/errors.js";
import type { CommandContext, CommandPort } from "../../src/ports/command.js";
import { stopResponse } from "../../src/testkit/builders.js";
import { runClaims } from "../../src/testkit/claims/index.js";
import { commandPortClaims, type CommandPortFixture } from "../../src/testkit/claims/command-port.js";
import { commandDef, RecordingCommands } from "../../src/testkit/fakes/recording-commands.js";
import { testAgent } from "../../src/testkit/test-agent.js";
import { proveClaims } from "./prove-claims.js";

const done: CommandOutcome = { type: "success", feedback: "done", structured: { n: [1] }, uiHint: "toast" };
const times = {
  name: "times",
  label: "times",
  description: "How often.",
  type: "int",
  required: false,
  positional: true,
} as const;

/** Resolves once the signal has fired; keeps no listener. */
const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });

const samples = {
  invocations: [
    { id: "go", args: { times: 2 }, sessionId: "s", outcome: "success" },
    { id: "ask", outcome: "needsInput" },
    { id: "nope", outcome: "failure" },
  ],
  slow: { id: "wait" },
  failing: { id: "fail" },
  invalid: { id: "go", args: { times: "often" } },
  deadlineMs: 50,
} as const satisfies Partial<CommandPortFixture>;

/** Commands of every kind of outcome. */
function registry(): CommandRegistry {
  return new CommandRegistry()
    .register({ id: "go", description: "Goes.", aliases: ["g"], params: [times] }, () => done)
    .register({ id: "ask", description: "Asks." }, () => ({ type: "needsInput", prompt: "Which one?" }))
    .register({ id: "nope", description: "Refuses." }, () => ({ type: "failure", reason: "not now" }))
    .register({ id: "fail", description: "Fails." }, () => {
      throw new Error("broken");
    })
    .register({ id: "wait", description: "Waits." }, async (_args, { signal }) => {
      await aborted(signal);
      return done;
    });
}

type Invoke = CommandPort["invoke"];

/** The registry with some members replaced. */
function fixtureOf(replace: (base: CommandPort) => Partial<CommandPort> = () => ({})): CommandPortFixture {
  const base = registry();
  const whole: CommandPort = { commands: () => base.commands(), invoke: base.invoke.bind(base) };
  return { ...samples, commands: { ...whole, ...replace(whole) } };
}

const listing = (change: (defs: readonly CommandDef[]) => readonly unknown[]) =>
  fixtureOf((base) => ({ commands: () => change(base.commands()) as readonly CommandDef[] }));
const invoking = (change: (invoke: Invoke) => Invoke) => fixtureOf((base) => ({ invoke: change(base.invoke) }));
/** What one command does instead. */
const doing = (id: string, run: (args: CommandArgs, context: CommandContext, invoke: Invoke) => Promise<unknown>) =>
  invoking(
    (invoke) => async (asked, args, context) =>
      asked === id && args["times"] !== "often"
        ? ((await run(args, context, invoke)) as CommandOutcome)
        : invoke(asked, args, context),
  );

const never = Promise.withResolvers<never>().promise;

const broken: Readonly<Record<string, () => CommandPortFixture>> = {
  "commands-are-whole": () => listing((defs) => [...defs, { ...commandDef("x"), id: "two words" }]),
  "commands-have-names-of-their-own": () => listing((defs) => [...defs, commandDef("other", { aliases: ["g"] })]),
  "commands-stay-the-same": () => {
    let calls = 0;
    return listing((defs) => (calls++ === 0 ? defs : [...defs].reverse()));
  },
  "commands-lend-no-list": () => {
    let own: readonly CommandDef[] | undefined;
    return listing((defs) => (own ??= [...defs]));
  },
  "commands-refuse-unknown-ids": () =>
    invoking(
      (invoke) => async (id, args, context) =>
        id === "no-such-command" ? { type: "failure", reason: "there is none" } : invoke(id, args, context),
    ),
  "commands-refuse-inherited-ids": () => {
    const table: Record<string, unknown> = {};
    return invoking(
      (invoke) => async (id, args, context) => (table[id] === undefined ? invoke(id, args, context) : done),
    );
  },
  "commands-escape-unknown-ids": () =>
    invoking(
      (invoke) => (id, args, context) =>
        invoke(id, args, context).catch((error: unknown) => {
          throw error instanceof CommandError && error.kind === "not-found" ? new CommandError("not-found", id) : error;
        }),
    ),
  "commands-run": () => doing("ask", async () => done),
  "commands-say-what-came-of-it": () => doing("go", async () => ({ ...done, structured: { at: new Date(0) } })),
  "commands-run-at-once": () => {
    let running = 0;
    return doing("go", async () => {
      const alone = ++running === 1;
      await Promise.resolve();
      running -= 1;
      return alone ? done : { ...done, feedback: "busy" };
    });
  },
  "commands-leave-arguments-alone": () => doing("go", async (args) => Object.assign(args, { times: 3 }) && done),
  "commands-take-callers-without-a-session": () =>
    doing("go", async (_args, { sessionId }) => {
      if (sessionId === undefined) throw new TypeError("no session");
      return done;
    }),
  "commands-leave-no-listener": () =>
    doing("go", async (args, context, invoke) => {
      context.signal.addEventListener("abort", () => undefined);
      return invoke("go", args, context);
    }),
  "commands-fail-typed": () => doing("fail", () => Promise.reject(new Error("broken"))),
  "commands-refuse-bad-arguments": () =>
    invoking(
      (invoke) => async (id, args, context) =>
        invoke(id, args, context).catch((error: unknown) => {
          if (error instanceof CommandError && error.kind === "invalid-args") return done;
          throw error;
        }),
    ),
  "commands-settle-on-abort": () =>
    doing("wait", (args, context, invoke) => (context.signal.aborted ? invoke("wait", args, context) : never)),
  "commands-settle-when-aborted-before": () =>
    doing("wait", (args, context, invoke) => (context.signal.aborted ? never : invoke("wait", args, context))),
};

proveClaims("commandPortClaims", { claims: commandPortClaims, sound: () => fixtureOf(), broken });

describe("CommandRegistry", () => {
  runClaims({ test, claims: commandPortClaims, make: () => ({ ...samples, commands: registry() }) });
});

describe("the recording commands", () => {
  runClaims({
    test,
    claims: commandPortClaims,
    make: (): CommandPortFixture => ({
      commands: new RecordingCommands()
        .add("go", done)
        .add("ask", { type: "needsInput", prompt: "Which one?" })
        .add("fail", new CommandError("execution-failed", "told to fail")),
      invocations: [
        { id: "go", outcome: "success" },
        { id: "ask", outcome: "needsInput" },
      ],
      failing: { id: "fail" },
    }),
    capabilities: {
      abort: { missing: "it answers at once" },
      validation: { missing: "it records arguments as they come" },
    },
  });
});

describe("sessionCommands", () => {
  runClaims({
    test,
    claims: commandPortClaims,
    make: async (): Promise<CommandPortFixture> => {
      const fakes = await testAgent({ script: [stopResponse("hello")] });
      await fakes.agent.runTurn("hi", "s");
      return {
        commands: sessionCommands(),
        agent: fakes.agent,
        invocations: [
          { id: "new", sessionId: "s", outcome: "success" },
          { id: "sessions", sessionId: "s", outcome: "success" },
          { id: "resume", args: { session: "1" }, sessionId: "s", outcome: "success" },
          { id: "resume", args: { session: "nobody" }, sessionId: "s", outcome: "failure" },
          { id: "compact", sessionId: "s", outcome: "success" },
          { id: "export", sessionId: "s", outcome: "success" },
        ],
        failing: { id: "fork", args: { message: "no such message" }, sessionId: "s" },
        invalid: { id: "resume", args: {} },
        [Symbol.asyncDispose]: () => fakes[Symbol.asyncDispose](),
      };
    },
    capabilities: { abort: { missing: "a compaction takes as long as its compressors, and here are none" } },
  });
});

describe("terminalCommands", () => {
  runClaims({
    test,
    claims: commandPortClaims,
    make: async (): Promise<CommandPortFixture> => {
      const fakes = await testAgent({ commands: [terminalCommands()] });
      return {
        commands: terminalCommands(),
        agent: fakes.agent,
        invocations: [
          { id: "help", outcome: "success" },
          { id: "quit", outcome: "success" },
        ],
        invalid: { id: "quit", args: { now: true } },
        [Symbol.asyncDispose]: () => fakes[Symbol.asyncDispose](),
      };
    },
    capabilities: {
      abort: { missing: "both answer at once" },
      failure: { missing: "neither can fail" },
    },
  });
});

describe("NoopCommands", () => {
  const missing = { missing: "it has no commands" };
  runClaims({
    test,
    claims: commandPortClaims,
    make: () => ({ commands: new NoopCommands() }),
    capabilities: { commands: missing, abort: missing, failure: missing, validation: missing },
  });
});
