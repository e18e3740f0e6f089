import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { expandTemplate } from "../../src/domain/expand-template.js";

const expand = (template: string, text: string): string => {
  const expanded = expandTemplate(template, text);
  return expanded.ok ? expanded.value : expanded.reason;
};

describe("expandTemplate", () => {
  it("inserts any text once and unchanged, whether or not the template has a place for it", () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(..."$@123ARGUMENTS{}&`'\" ab") }), (text) => {
        const typed = text.trim();
        expect(expand("before $ARGUMENTS after", text)).toBe(`before ${typed} after`);
        expect(expand("before", text)).toBe(typed === "" ? "before" : `before\n\n${typed}`);
      }),
    );
  });

  it.each([
    ["puts words in their places", "$2 before $1", "a 'b c'", "b c before a"],
    ["leaves a missing word empty", "[$1][$2]", "a", "[a][]"],
    ["adds the words behind the last one used", "Fix $1.", "a.ts please  now", "Fix a.ts.\n\nplease  now"],
    ["leaves amounts of money alone", "It costs $300 or $10.", "", "It costs $300 or $10."],
    ["leaves other names alone", "$ARGUMENTSX $HOME $$", "", "$ARGUMENTSX $HOME $$"],
    ["needs no closed quotes for the whole text", "Do: $@", "don't", "Do: don't"],
    ["gives a reason where a word is wanted and a quote is open", "Do: $1", "don't", "a quote is not closed"],
  ])("%s", (_title, template, text, expected) => {
    expect(expand(template, text)).toBe(expected);
  });
});
