import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { CommandArgs, CommandParam } from "../../src/domain/command.js";
import { parseSlashArgs } from "../../src/domain/slash-args.js";
import { parseSlashLine } from "../../src/domain/slash-line.js";
import { validateArgs } from "../../src/domain/validate-args.js";
import { quoteWord } from "../../src/domain/words.js";

const param = (name: string, extra: Partial<CommandParam> = {}): CommandParam => ({
  name,
  label: name,
  description: "",
  type: "string",
  required: false,
  positional: true,
  ...extra,
});

const read = (text: string, ...params: readonly CommandParam[]): CommandArgs | string => {
  const parsed = parseSlashArgs(text, params);
  return parsed.ok ? parsed.value : parsed.reason;
};

const hostile = fc.string({ unit: fc.oneof(fc.constantFrom(..."\"'\\ =,/:\n"), fc.string({ unit: "binary" })) });

describe("parseSlashLine", () => {
  it("takes name and rest apart without changing the rest", () => {
    expect(parseSlashLine("/add  a  'b'\n")).toEqual({ ok: true, value: { name: "add", rest: " a  'b'\n" } });
    expect(parseSlashLine("/re-do")).toEqual({ ok: true, value: { name: "re-do", rest: "" } });
    expect(parseSlashLine("/a.b:c_d-1\tx")).toEqual({ ok: true, value: { name: "a.b:c_d-1", rest: "x" } });
  });

  it.each(["", "/", "//x", "/ x", "/-x", "/src/main.ts is broken", " /x", "\n/x", "/a,b", "/a\u0000", "/ä", "x /y"])(
    "takes %j for an ordinary message",
    (text) => {
      expect(parseSlashLine(text).ok).toBe(false);
    },
  );

  it("never throws, and what it takes apart is the text again", () => {
    fc.assert(
      fc.property(
        fc.oneof(
          hostile,
          hostile.map((text) => `/x ${text}`),
        ),
        (text) => {
          const line = parseSlashLine(text);
          if (line.ok) expect(text.startsWith(`/${line.value.name}`) && text.endsWith(line.value.rest)).toBe(true);
        },
      ),
    );
  });
});

describe("parseSlashArgs", () => {
  it("gives back any text that was quoted, as a positional and as a named value", () => {
    fc.assert(
      fc.property(hostile, (text) => {
        expect(read(quoteWord(text), param("a"))).toEqual({ a: text });
        expect(read(`a=${quoteWord(text)}`, param("a"))).toEqual({ a: text });
      }),
    );
  });

  it("gives back any list whose items were quoted", () => {
    fc.assert(
      fc.property(fc.array(hostile), (list) => {
        expect(read(`a=${list.map(quoteWord).join(",")}`, param("a", { type: "strings" }))).toEqual({ a: list });
      }),
    );
  });

  it("never throws, whatever the text", () => {
    const params = [
      param("a"),
      param("b", { type: "int" }),
      param("c", { type: "bool" }),
      param("d", { type: "strings" }),
    ];
    fc.assert(fc.property(hostile, (text) => void parseSlashArgs(text, params)));
  });

  const three = [param("a"), param("b"), param("flag", { positional: false, type: "bool" })];

  it.each<[string, string, CommandArgs | string]>([
    ["fills positional parameters in declaration order", "x y", { a: "x", b: "y" }],
    ["skips a positional parameter already set by key", "a=x y", { a: "x", b: "y" }],
    ["keeps later equal signs in the value", "a=v=w", { a: "v=w" }],
    ["takes an unknown key for a positional value where one is free", "k=v", { a: "k=v" }],
    ["takes a quoted equal sign for text", '"a=x"', { a: "a=x" }],
    ["takes an escaped equal sign for text", String.raw`a\=x`, { a: "a=x" }],
    ["takes a leading equal sign for text", "=x", { a: "=x" }],
    ["refuses an unknown key where nothing is free", "x y k=v", 'there is no "k"'],
    ["refuses one argument too many", "x y z", '"z" is one argument too many'],
    ["refuses a parameter set twice", "a=x a=y", '"a" is given twice'],
    ["refuses a key that its position has set", "x a=y", '"a" is given twice'],
    ["refuses an unclosed quote", "'x", "a quote is not closed"],
    ["never fills a parameter by position that has none", "x y true", '"true" is one argument too many'],
    ["refuses a word that is no truth value", "flag=maybe", '"flag" takes true, false, on, off, yes or no'],
  ])("%s", (_title, text, expected) => {
    expect(read(text, ...three)).toEqual(expected);
  });

  it.each([
    ["on", true],
    ["yes", true],
    ["true", true],
    ["off", false],
    ["no", false],
    ["false", false],
  ])("reads %s as %s", (text, value) => {
    expect(read(`flag=${text}`, ...three)).toEqual({ flag: value });
  });

  it.each([
    ["-7", { n: -7 }],
    ["+7", { n: 7 }],
    ["-0", { n: 0 }],
    ["9007199254740991", { n: 9007199254740991 }],
    ["9007199254740992", '"n" takes a whole number'],
    ["1.0", '"n" takes a whole number'],
    ["0x10", '"n" takes a whole number'],
    ["''", '"n" takes a whole number'],
  ])("reads the int %s exactly or refuses it", (text, expected) => {
    expect(read(text, param("n", { type: "int" }))).toEqual(expected);
  });

  it("splits lists at unquoted commas only", () => {
    expect(read(`a,"b,c",,d\\,e`, param("l", { type: "strings" }))).toEqual({ l: ["a", "b,c", "", "d,e"] });
    expect(read("l=", param("l", { type: "strings" }))).toEqual({ l: [] });
  });

  it("fills in defaults, asks for what is required and checks choices", () => {
    const level = param("level", { choices: ["low", "high"], default: "low" });
    expect(read("", level)).toEqual({ level: "low" });
    expect(read("mid", level)).toBe('"level" takes one of: low, high');
    expect(read("", param("file", { required: true }))).toBe('"file" is missing');
  });

  it("treats names of Object.prototype as ordinary names", () => {
    expect(read("__proto__=x", param("__proto__"))).toEqual(JSON.parse('{"__proto__":"x"}'));
    expect(read("", param("constructor"))).toEqual({});
    expect(read("constructor=x")).toBe('there is no "constructor"');
  });

  it("keeps control characters of the text out of its reasons", () => {
    expect(read("\u001b[2J")).toBe('"[2J" is one argument too many');
  });
});

describe("validateArgs", () => {
  const def = {
    params: [
      param("s", { required: true }),
      param("n", { type: "int", default: 3 }),
      param("b", { type: "bool" }),
      param("l", { type: "strings", choices: ["x", "y"] }),
    ],
  };
  const check = (args: CommandArgs): CommandArgs | string => {
    const checked = validateArgs(def, args);
    return checked.ok ? checked.value : checked.reason;
  };

  it("accepts arguments of the right types and fills in defaults", () => {
    expect(check({ s: "a", l: ["x", "y"], b: false })).toEqual({ s: "a", n: 3, b: false, l: ["x", "y"] });
  });

  it.each<[CommandArgs, string]>([
    [{}, '"s" is missing'],
    [{ s: 1 }, '"s" takes text'],
    [{ s: "a", n: 1.5 }, '"n" takes a whole number'],
    [{ s: "a", n: "1" }, '"n" takes a whole number'],
    [{ s: "a", b: "yes" }, '"b" takes true or false'],
    [{ s: "a", l: "x" }, '"l" takes a list of texts'],
    [{ s: "a", l: ["x", "z"] }, '"l" takes one of: x, y'],
    [{ s: "a", toString: "x" }, 'there is no "toString"'],
  ])("refuses %j", (args, reason) => {
    expect(check(args)).toBe(reason);
  });

  it("accepts what parseSlashArgs made", () => {
    const parsed = parseSlashArgs("a 5 yes l=x,y", [...def.params]);
    expect(parsed.ok && validateArgs(def, parsed.value)).toEqual(parsed);
  });
});
