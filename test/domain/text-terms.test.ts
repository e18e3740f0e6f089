import { describe, expect, it } from "vitest";
import { textTerms } from "../../src/domain/text-terms.js";

/** More than one match takes. */
const LONG = 200_001;

describe("textTerms", () => {
  it("keeps a word whole, however long, and beside what is another run", () => {
    const word = "a".repeat(LONG);
    expect(textTerms(`${word} b`)).toEqual([word, "b"]);
    expect(textTerms(`${word}漢b`)).toEqual([word, "漢", "b"]);
    // A letter that both kinds of runs may hold stays with the one it stands in.
    expect(textTerms(`${"a".repeat(65_536)}ー漢`)).toEqual([`${"a".repeat(65_536)}ー`, "漢"]);
    expect(textTerms("a".repeat(10_000_000)).map(({ length }) => length)).toEqual([10_000_000]);
  });

  it("gives each sign and each pair of a script without spaces, however long the run", () => {
    const terms = textTerms("漢字".repeat(LONG));
    expect(terms).toHaveLength(4 * LONG - 1);
    expect(new Set(terms)).toEqual(new Set(["漢", "字", "漢字", "字漢"]));
    expect(textTerms("💥💥")).toEqual(["💥", "💥"]);
  });
});
