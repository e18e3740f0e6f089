import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  columns,
  terminalLine,
  TerminalTextCleaner,
  terminalText,
} from "../../../src/adapters/observers/terminal-text.js";

const hostile = fc.string({
  unit: fc.oneof(
    fc.constantFrom("\u001b", "[", "\u009b", "]", "m", "1", ";", "\u0007", "\r", "😀", "\ud83d"),
    fc.string({ unit: "binary" }),
  ),
});

/** What a terminal may obey: any control character but line feed and tab. */
const OBEYED = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/u;

describe("terminalText", () => {
  it("leaves nothing a terminal would obey, whatever the text", () => {
    fc.assert(
      fc.property(hostile, (text) => {
        expect(terminalText(text)).not.toMatch(OBEYED);
        expect(terminalText(text).isWellFormed()).toBe(true);
      }),
    );
  });

  it("gives the same for any cutting of the text into pieces", () => {
    fc.assert(
      fc.property(fc.array(hostile), (pieces) => {
        const cleaner = new TerminalTextCleaner();
        const cleaned = pieces.map((piece) => cleaner.push(piece)).join("") + cleaner.end();
        expect(cleaned).toBe(terminalText(pieces.join("")));
      }),
    );
  });

  it.each([
    ["colours", "a\u001b[31mred\u001b[0m", "ared"],
    ["a cleared screen", "\u001b[2J\u001b[Hx", "x"],
    ["one-character CSI", "\u009b2Jx", "x"],
    ["a window title, keeping its words visible", "\u001b]0;owned\u0007x", "]0;ownedx"],
    ["a carriage return that would hide what came before", "safe\rrm -rf", "saferm -rf"],
    ["backspaces", "ab\b\bcd", "abcd"],
    ["bidirectional overrides", "a\u202etxt.exe", "atxt.exe"],
    ["invisible tag characters", "a\u{e0041}b", "ab"],
  ])("removes %s", (_what, text, expected) => {
    expect(terminalText(text)).toBe(expected);
  });

  it("keeps line feeds, tabs, joined emoji and other scripts", () => {
    const text = "a\n\tb 日本 👩‍💻 עברית";
    expect(terminalText(text)).toBe(text);
  });
});

describe("terminalLine", () => {
  it("never takes more columns than it may, and is one line", () => {
    fc.assert(
      fc.property(hostile, fc.integer({ min: 2, max: 40 }), (text, width) => {
        const line = terminalLine(text, width);
        expect(columns(line)).toBeLessThanOrEqual(width);
        expect(line).not.toMatch(/[\n\t]/);
      }),
    );
  });

  it("marks what it cuts", () => {
    expect(terminalLine("abcdef", 6)).toBe("abcdef");
    expect(terminalLine("abcdefg", 6)).toBe("abcde…");
    expect(terminalLine("日本語です", 6)).toBe("日本…");
    expect(terminalLine("a\nb", 6)).toBe("a b");
  });

  it("costs the same for a text of any length", () => {
    expect(terminalLine("x".repeat(5_000_000), 10)).toBe("xxxxxxxxx…");
  });
});
