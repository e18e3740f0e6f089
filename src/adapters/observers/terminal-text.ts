/**
 * Text from outside that is safe to write to a terminal: whole CSI sequences, all other control characters but line feed and tab,
 * bidirectional overrides and invisible tag characters are removed, lone surrogates become U+FFFD. What stood between an escape and
 * its end stays visible, so nothing can be hidden from the reader.
 */
export function terminalText(text: string): string {
  const cleaner = new TerminalTextCleaner();
  return cleaner.push(text) + cleaner.end();
}

/** `terminalText` on one line of at most `width` columns; line ends and tabs become blanks, cut text ends in `…`. */
export function terminalLine(text: string, width: number): string {
  // A column takes at least one code point; marks of no width are bounded by the factor.
  const line = terminalText(text.slice(0, width * 8)).replace(/[\n\t]+/g, " ");
  if (text.length <= width * 8 && columns(line) <= width) return line;
  let cut = "";
  let used = 0;
  for (const point of line) {
    used += pointColumns(point);
    if (used > width - 1) break;
    cut += point;
  }
  return `${cut}…`;
}

/** How many columns of a terminal a text without control characters takes. */
export function columns(text: string): number {
  let count = 0;
  for (const point of text) count += pointColumns(point);
  return count;
}

/** `terminalText` over pieces of one text: escape sequences and surrogate pairs may be cut anywhere. */
export class TerminalTextCleaner {
  #held = "";

  /** The clean text of everything whose meaning is settled. */
  push(piece: string): string {
    const text = this.#held + piece;
    const open = OPEN_END.exec(text)?.index ?? text.length;
    this.#held = text.slice(open);
    return clean(text.slice(0, open));
  }

  /** What was held back for a continuation that never came. The cleaner can be used again. */
  end(): string {
    const rest = clean(this.#held);
    this.#held = "";
    return rest;
  }
}

/** A CSI sequence is at most this long: beyond it, it is text that happens to begin with an escape. */
const CSI = /(?:\u001b\[|\u009b)[0-?]{0,32}[ -/]{0,4}[@-~]/g;
/** The start of a CSI sequence or of a surrogate pair that the next piece may complete. */
const OPEN_END = /(?:\u001b(?:\[[0-?]{0,32}[ -/]{0,4})?|\u009b[0-?]{0,32}[ -/]{0,4}|[\ud800-\udbff])$/;
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u2028-\u202e\u2066-\u2069\ufeff\u{e0000}-\u{e007f}]/gu;

function clean(text: string): string {
  return text.replace(CSI, "").replace(CONTROLS, "").toWellFormed();
}

const NO_WIDTH = /^[\p{Mn}\p{Me}\p{Cf}]$/u;
const WIDE =
  /^[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]$/u;

function pointColumns(point: string): number {
  if (point <= "\u02ff") return 1;
  if (NO_WIDTH.test(point)) return 0;
  return WIDE.test(point) ? 2 : 1;
}
