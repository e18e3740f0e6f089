import { describe, expect, it } from "vitest";
import { CommandRegistry } from "../../src/adapters/commands/registry.js";
import type { CommandArgs, CommandOutcome } from "../../src/domain/command.js";
import { expandTemplate } from "../../src/domain/expand-template.js";
import { parseSlashLine } from "../../src/domain/slash-line.js";
import { splitWords } from "../../src/domain/words.js";
import { testAgent } from "../../src/testkit/index.js";

/** The words of the argument text behind a command's name. */
const wordsOf = (line: string): unknown => {
  const parsed = parseSlashLine(line);
  const words = splitWords(parsed.ok ? parsed.value.rest : "");
  return parsed.ok && words.ok ? words.value : "nothing";
};

const restOf = (line: string): string => {
  const parsed = parseSlashLine(line);
  return parsed.ok ? parsed.value.rest : "";
};

const expand = (template: string, text: string): string => {
  const expanded = expandTemplate(template, text);
  return expanded.ok ? expanded.value : expanded.reason;
};

describe("F197 quoted and escaped arguments", () => {
  it.each([
    ['/add "my file.txt"', ["my file.txt"]],
    [String.raw`/add left\ right`, ["left right"]],
    [`/add '"p q" r'`, ['"p q" r']],
    [String.raw`/add \"p q\"`, ['"p', 'q"']],
    [String.raw`/add "x\"y" ""`, ['x"y', ""]],
    ['/add --k="a b=c" k2=v=w', ["--k=a b=c", "k2=v=w"]],
    ["/add  naïve   日本 ", ["naïve", "日本"]],
    [String.raw`/add "a\\b" 'c\d' e\'f`, [String.raw`a\b`, String.raw`c\d`, "e'f"]],
    [`/add a''b ''`, ["ab", ""]],
    ["/add\ta\nb", ["a", "b"]],
  ])("reads %j as words", (line, words) => {
    expect(wordsOf(line)).toEqual(words);
  });

  it("gives a reason for an unclosed quote, and keeps the raw text unchanged", () => {
    for (const text of ['"open', "it's", String.raw`a "b\"`]) {
      expect(splitWords(text)).toEqual({ ok: false, reason: "a quote is not closed" });
      expect(restOf(`/add ${text}`)).toBe(text);
    }
    expect(restOf("/add  naïve   日本 ")).toBe(" naïve   日本 ");
  });
});

describe("F199 inserted text is not expanded again", () => {
  it.each([
    ["Fee: $@", "$300", "Fee: $300"],
    ["$1 then $ARGUMENTS", "use $2 now", "use then use $2 now"],
    ["$2 $1", "$1 $2", "$2 $1"],
    ["Do $ARGUMENTS", "$ARGUMENTS $@ $& $` $' $$ $<x>", "Do $ARGUMENTS $@ $& $` $' $$ $<x>"],
  ])("in %j with %j", (template, text, expected) => {
    expect(expand(template, text)).toBe(expected);
  });
});

describe("F201 arguments without a placeholder", () => {
  it.each([
    ["Costs $5.", "one two", "Costs .\n\none two"],
    ["Second: $2", `a "b c"  'd'  e`, "Second: b c\n\na 'd'  e"],
    ["$3 and $1", "a b c d", "c and a\n\nb d"],
    ["$1", "a", "a"],
    ["$1 $2", "a", "a "],
  ])("are whole with %j and %j, whichever words it asks for", (template, text, expected) => {
    expect(expand(template, text)).toBe(expected);
  });

  it.each(["Review.", "Review $ARGUMENTS", "Review $@.", "Review $1", ""])("occur exactly once with %j", (template) => {
    expect(expand(template, restOf("/x src/a.ts")).split("src/a.ts")).toHaveLength(2);
  });
});

describe("F202 command names, and text that only looks like a command", () => {
  type Ran = { readonly command: string; readonly args: readonly string[] };

  /** What the agent makes of a line: the command that ran, an outcome, or nothing for a message. */
  const outcomeOf = async (line: string): Promise<Ran | CommandOutcome | "message"> => {
    const ran: Ran[] = [];
    const registry = new CommandRegistry();
    const words = {
      name: "words",
      label: "",
      description: "",
      type: "string",
      required: false,
      positional: true,
    } as const;
    for (const id of ["acme.tools:lint", "re-do"])
      registry.register({ id, description: "", params: [words] }, (args: CommandArgs) => {
        ran.push({ command: id, args: Object.values(args).map(String) });
        return { type: "success", feedback: "" };
      });
    await using test = await testAgent({ commands: [registry] });
    const outcome = await test.agent.commands.run(line);
    expect(test.model.callCount).toBe(0);
    return ran[0] ?? outcome ?? "message";
  };

  it("runs registered names with dots, colons and dashes", async () => {
    expect(await outcomeOf("/acme.tools:lint x")).toEqual({ command: "acme.tools:lint", args: ["x"] });
    expect(await outcomeOf("/re-do")).toEqual({ command: "re-do", args: [] });
    expect(await outcomeOf("/re-do\n")).toEqual({ command: "re-do", args: [] });
  });

  it("names an unknown command and asks no model", async () => {
    const outcome = await outcomeOf("/nope x");
    expect(outcome).toMatchObject({ type: "failure" });
    expect(JSON.stringify(outcome)).toContain("nope");
  });

  it.each(["/src/main.ts is broken", "//x", "/", " /re-do", "/re-do/x", "/,", "see /re-do", "/-x"])(
    "takes %j for an ordinary message",
    async (line) => {
      expect(await outcomeOf(line)).toBe("message");
    },
  );
});
