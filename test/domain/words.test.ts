import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { quoteWord, splitWords } from "../../src/domain/words.js";

const words = (text: string): readonly string[] | string => {
  const split = splitWords(text);
  return split.ok ? split.value : split.reason;
};

const anyText = fc.string({ unit: fc.oneof(fc.constantFrom(..."\"'\\ =,\t\n$/"), fc.string({ unit: "binary" })) });

describe("splitWords", () => {
  it("gives back any list of texts that was quoted and joined", () => {
    fc.assert(
      fc.property(fc.array(anyText), (list) => {
        expect(words(list.map(quoteWord).join(" "))).toEqual(list);
      }),
    );
  });

  it("never throws and never invents characters, whatever the text", () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const split = splitWords(text);
        if (split.ok) expect(split.value.join("").length).toBeLessThanOrEqual(text.length);
        else expect(split.reason).toBe("a quote is not closed");
      }),
    );
  });

  it("gives a text without quotes, backslashes and blanks back as one word", () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[^\s"'\\]+$/), (text) => {
        expect(words(text)).toEqual([text]);
      }),
    );
  });

  it.each([
    ["keeps a Windows path as typed", String.raw`C:\temp\new.txt`, [String.raw`C:\temp\new.txt`]],
    ["keeps a backslash at the end", "a\\", ["a\\"]],
    ["keeps other backslashes inside double quotes", String.raw`"a\nb\ c"`, [String.raw`a\nb\ c`]],
    ["keeps every backslash inside single quotes", String.raw`'a\'`, ["a\\"]],
    ["joins pieces that touch", `a"b c"'d'e`, ["ab cde"]],
    ["escapes a single quote", String.raw`it\'s`, ["it's"]],
    ["splits at tabs, line ends and wide blanks", "a\tb\nc\u3000d", ["a", "b", "c", "d"]],
    ["finds no words in blanks", " \t ", []],
  ])("%s", (_title, text, expected) => {
    expect(words(text)).toEqual(expected);
  });

  it.each(["'", '"', "a 'b", 'say "hi', String.raw`"x\"`])("gives a reason for the unclosed quote in %s", (text) => {
    expect(words(text)).toBe("a quote is not closed");
  });

  it("takes a long text in linear time", () => {
    const text = `"${"a ".repeat(200_000)}" ${"b\\ ".repeat(200_000)}`;
    expect(words(text)).toHaveLength(2);
  });
});
