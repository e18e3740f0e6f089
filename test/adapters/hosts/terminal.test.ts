import { setImmediate as immediate } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { sessionCommands } from "../../../src/adapters/commands/session-commands.js";
import {
  runTerminal,
  type TerminalEnd,
  type TerminalOptions,
  terminalCommands,
} from "../../../src/adapters/hosts/terminal.js";
import { ModelError } from "../../../src/domain/errors.js";
import { type Message, textOf } from "../../../src/domain/message.js";
import {
  modelStep,
  stopResponse,
  type TestAgent,
  testAgent,
  type TestAgentOptions,
  textStream,
  toolCallResponse,
  toolOutcome,
} from "../../../src/testkit/index.js";
import { Screen } from "../../support/screen.js";

type Chat = TestAgent & {
  readonly screen: Screen;
  readonly end: Promise<TerminalEnd>;
  readonly interrupt: () => void;
  /** Closes the input and gives all that was shown. */
  finish(): Promise<string>;
};

async function chat(
  agent: TestAgentOptions,
  options: Partial<TerminalOptions> = {},
  streams: { readonly isTTY?: boolean } = {},
): Promise<Chat> {
  const test = await testAgent({ commands: [sessionCommands(), terminalCommands()], ...agent });
  const screen = new Screen();
  Object.assign(screen.input, streams);
  Object.assign(screen.output, streams);
  let interrupt = (): void => undefined;
  const end = runTerminal({
    agent: test.agent,
    input: screen.input,
    output: screen.output,
    interrupts: (listener) => {
      interrupt = listener;
      return () => (interrupt = () => undefined);
    },
    ...options,
  });
  return {
    ...test,
    screen,
    end,
    interrupt: () => interrupt(),
    finish: async () => {
      screen.input.end();
      await end;
      return screen.shown;
    },
  };
}

const stored = async ({ agent }: Pick<TestAgent, "agent">, id = ""): Promise<readonly string[]> =>
  (await agent.session(id)).messages.map((message) => {
    const stopped = message.role === "assistant" && message.stopped !== undefined ? ` (${message.stopped})` : "";
    return `${message.role}${stopped}: ${textOf(message as Message)}`;
  });

describe("the terminal", () => {
  it("shows the answer as it comes and the tools as they run, and keeps one session", async () => {
    const script = [
      toolCallResponse("look", "c1", { at: "sky" }),
      modelStep.stream(textStream("It is blue.", 3)),
      stopResponse("Still blue."),
    ];
    const { screen, finish, end, agent } = await chat({ script, tools: { look: toolOutcome.ok("blue") } });
    screen.type("what colour?", "and now?");
    const shown = await finish();
    expect(shown).toContain('\n> what colour?\n→ look {"at":"sky"}\n✓ look: blue\nIt is blue.\n— completed');
    expect(shown).toContain("\n> and now?\nStill blue.\n— completed");
    const { sessionId, reason } = await end;
    expect(reason).toBe("input-ended");
    expect((await stored({ agent }, sessionId)).filter((line) => !line.startsWith("tool"))).toHaveLength(5);
  });

  it("goes on with the session it is given", async () => {
    const { screen, finish, agent } = await chat({ script: [stopResponse("one")] }, { sessionId: "mine" });
    screen.type("first");
    await finish();
    expect(await stored({ agent }, "mine")).toEqual(["user: first", "assistant: one"]);
  });

  it("shows why a turn failed and goes on in the same session", async () => {
    const script = [modelStep.fail(new ModelError("rate-limit", "come back later")), stopResponse("back")];
    const { screen, finish, end, agent } = await chat({ script });
    screen.type("one", "two");
    const shown = await finish();
    expect(shown).toContain("ModelError(rate-limit): come back later");
    expect(shown).toContain("back\n— completed");
    expect(await stored({ agent }, (await end).sessionId)).toEqual(["user: one", "user: two", "assistant: back"]);
  });

  it("runs nothing for empty lines", async () => {
    const { screen, finish, model } = await chat({});
    screen.type("", "   ", "\t");
    await finish();
    expect(model.callCount).toBe(0);
  });

  it("writes no secret, even when an error repeats it", async () => {
    const script = [modelStep.fail(new ModelError("auth", "wrong key sk-12345 o"))];
    const { screen, finish } = await chat({ script }, { secrets: ["sk-12345", "", "o"] });
    screen.type("hi");
    const shown = await finish();
    expect(shown).toContain("wrong key [secret] o");
    expect(shown).not.toContain("sk-12345");
  });

  it("cleans messages, answers, errors and command feedback of what a terminal would obey", async () => {
    const attack = "\u001b[2J\u001b]0;owned\u0007evil\r";
    const script = [stopResponse(attack), modelStep.fail(new ModelError("server", attack))];
    const { screen, finish } = await chat({ script }, { sessionId: attack });
    screen.type(attack, "again", `/${"nope"} ${attack}`, `/resume "${attack}"`, "/sessions");
    const shown = await finish();
    expect(shown).toContain("evil");
    expect(shown).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/u);
  });
});

describe("commands in the terminal", () => {
  it("name an unknown command and ask no model", async () => {
    const { screen, finish, model } = await chat({});
    screen.type("/nope x");
    expect(await finish()).toContain("nope");
    expect(model.callCount).toBe(0);
  });

  it("leave text that only looks like a command to the model", async () => {
    const script = [stopResponse("a"), stopResponse("b"), stopResponse("c")];
    const { screen, finish, model } = await chat({ script });
    screen.type("/src/main.ts is broken", "//x", " /quit");
    await finish();
    expect(model.requests.map(({ messages }) => textOf(messages.at(-1) as Message))).toEqual([
      "/src/main.ts is broken",
      "//x",
      " /quit",
    ]);
  });

  it("list themselves, and /quit leaves without reading on", async () => {
    const { screen, end, model } = await chat({});
    screen.type("/help", "/quit", "never asked");
    expect((await end).reason).toBe("quit");
    for (const usage of [
      "/new",
      "/sessions",
      "/resume <session>",
      "/fork [message]",
      "/compact",
      "/export [name]",
      "/help",
      "/quit",
    ])
      expect(screen.shown).toMatch(new RegExp(`^${usage.replaceAll(/[[\]]/g, "\\$&")} `, "m"));
    expect(model.callCount).toBe(0);
  });

  it("/new begins another session, /resume goes back", async () => {
    const script = [stopResponse("a"), stopResponse("b"), stopResponse("c")];
    const { screen, finish, end, agent } = await chat({ script }, { sessionId: "one" });
    screen.type("first", "/new", "second", "/resume one", "third");
    await finish();
    expect(await stored({ agent }, "one")).toEqual(["user: first", "assistant: a", "user: third", "assistant: c"]);
    expect((await end).sessionId).toBe("one");
    const { items } = await agent.sessions.list();
    expect(items).toHaveLength(2);
  });

  it("show what was wrong with their arguments", async () => {
    const { screen, finish } = await chat({});
    screen.type("/resume", "/resume 'open", "/new surplus");
    const shown = await finish();
    expect(shown).toContain('"session" is missing');
    expect(shown).toContain("a quote is not closed");
    expect(shown).toContain('"surplus" is one argument too many');
  });
});

describe("a line typed in a terminal while a turn runs", () => {
  const typed = async (agent: TestAgentOptions): Promise<Chat> => chat(agent, { sessionId: "s" }, { isTTY: true });

  it("steers it, behind the results of the tools that run (L3)", async () => {
    const script = [toolCallResponse("look", "c1"), stopResponse("It is red, at night.")];
    const { screen, finish, tools, agent } = await typed({ script, tools: { look: toolOutcome.held() } });
    screen.type("what colour?");
    await tools.started("c1");
    screen.type("at night, I mean");
    await screen.see("↪ heard after this step");
    tools.settle("c1", toolOutcome.ok("red"));
    await screen.see("— completed");
    await finish();
    expect(await stored({ agent }, "s")).toEqual([
      "user: what colour?",
      "assistant: ",
      "tool: red",
      "user: at night, I mean",
      "assistant: It is red, at night.",
    ]);
  });

  it("is told when the turn is stopped before it was heard (L3)", async () => {
    const script = [modelStep.hang([{ type: "textDelta", text: "Once upon a " }])];
    const { screen, finish, agent, interrupt } = await typed({ script });
    screen.type("tell me a tale");
    await screen.see("Once upon a ");
    screen.type("a \u001b[2Jshort one");
    await screen.see("↪ heard after this step");
    interrupt();
    await screen.see("not heard: a short one");
    await finish();
    expect(await stored({ agent }, "s")).toEqual(["user: tell me a tale", "assistant (aborted): Once upon a "]);
  });

  it("waits for the end where it is a command, or empty", async () => {
    const script = [toolCallResponse("look", "c1"), stopResponse("red")];
    const { screen, finish, tools, model } = await typed({ script, tools: { look: toolOutcome.held() } });
    screen.type("what colour?");
    await tools.started("c1");
    screen.type("", "/help");
    await immediate();
    expect(screen.shown).not.toContain("/quit");
    tools.settle("c1", toolOutcome.ok("red"));
    await screen.see("/quit");
    await finish();
    expect(screen.shown).not.toContain("↪");
    expect(model.callCount).toBe(2);
  });

  it("is a turn of its own where the lines come from a pipe", async () => {
    const script = [toolCallResponse("look", "c1"), stopResponse("red"), stopResponse("black")];
    const { screen, finish, tools, agent } = await chat(
      { script, tools: { look: toolOutcome.held() } },
      { sessionId: "s" },
    );
    screen.type("what colour?");
    await tools.started("c1");
    screen.type("and at night?");
    await immediate();
    tools.settle("c1", toolOutcome.ok("red"));
    await finish();
    expect((await stored({ agent }, "s")).slice(-3)).toEqual([
      "assistant: red",
      "user: and at night?",
      "assistant: black",
    ]);
  });
});

describe("interrupts", () => {
  it("first stop the running turn, whose partial answer is shown and stored, and the chat goes on", async () => {
    const script = [modelStep.hang([{ type: "textDelta", text: "Once upon a " }]), stopResponse("fine")];
    const { screen, finish, interrupt, agent } = await chat({ script }, { sessionId: "tale" });
    screen.type("tell me a tale");
    await screen.see("Once upon a ");
    interrupt();
    await screen.see("— aborted (interrupted by the user)");
    screen.type("never mind");
    await finish();
    expect(await stored({ agent }, "tale")).toEqual([
      "user: tell me a tale",
      "assistant (aborted): Once upon a ",
      "user: never mind",
      "assistant: fine",
    ]);
  });

  it("leave when nothing runs", async () => {
    const { screen, interrupt, end } = await chat({ script: [stopResponse("hello")] });
    screen.type("hi");
    await screen.see("— completed");
    // The line after the turn: the chat has come back for the next one.
    screen.type("/help");
    await screen.see("/quit");
    await immediate();
    interrupt();
    expect((await end).reason).toBe("interrupted");
  });

  it("leave at the second time, also while a turn still ends", async () => {
    const { screen, interrupt, end } = await chat({ script: [modelStep.hang([{ type: "textDelta", text: "hm" }])] });
    screen.type("hi");
    await screen.see("hm");
    interrupt();
    interrupt();
    expect((await end).reason).toBe("interrupted");
  });
});
