import type { Parsed } from "./command.js";

/** A word of an argument text after quotes and escapes are taken away; positions count UTF-16 units of `text`. */
export type Word = {
  readonly text: string;
  /** Where the word begins in the text it was split from. */
  readonly start: number;
  /** True when any part of it stood in quotes, so that `""` is told from nothing. */
  readonly quoted: boolean;
  /** Position of the first `=` that was neither quoted nor escaped; -1 without one. */
  readonly equals: number;
  /** Positions of commas that were neither quoted nor escaped. */
  readonly commas: readonly number[];
};

/**
 * Splits at blanks outside quotes; pieces that touch are one word. Single quotes keep everything; in double quotes a backslash
 * escapes `"` and `\` only; outside quotes it escapes anything but a letter or a digit, so that `C:\temp` stays what it is. A backslash
 * that escapes nothing stands for itself. An unclosed quote is a reason. Linear time, never throws.
 */
export function splitWords(text: string): Parsed<readonly string[]> {
  const words = markedWords(text);
  return words.ok ? { ok: true, value: words.value.map((word) => word.text) } : words;
}

/** Like `splitWords`, with what `key=value` and comma lists need to know about each word. */
export function markedWords(text: string): Parsed<readonly Word[]> {
  const words: Word[] = [];
  let at = skipBlanks(text, 0);
  while (at < text.length) {
    const read = readWord(text, at);
    if (read === undefined) return { ok: false, reason: "a quote is not closed" };
    words.push(read.word);
    at = skipBlanks(text, read.end);
  }
  return { ok: true, value: words };
}

/** Text that `splitWords` reads back as exactly this one word, whatever it holds. */
export function quoteWord(text: string): string {
  return `"${text.replace(/["\\]/g, "\\$&")}"`;
}

const BLANK = /\s/;
const KEEPS_BACKSLASH = /[\p{L}\p{N}]/u;

function skipBlanks(text: string, from: number): number {
  let at = from;
  while (at < text.length && BLANK.test(text.charAt(at))) at += 1;
  return at;
}

type Draft = { text: string; quoted: boolean; equals: number; commas: number[] };

function readWord(text: string, start: number): { readonly word: Word; readonly end: number } | undefined {
  const draft: Draft = { text: "", quoted: false, equals: -1, commas: [] };
  let at = start;
  while (at < text.length && !BLANK.test(text.charAt(at))) {
    const unit = text.charAt(at);
    if (unit === '"' || unit === "'") {
      const end = unit === "'" ? readSingle(text, at + 1, draft) : readDouble(text, at + 1, draft);
      if (end === undefined) return undefined;
      draft.quoted = true;
      at = end;
    } else {
      at = readPlain(text, at, draft);
    }
  }
  return { word: { ...draft, start }, end: at };
}

function readSingle(text: string, from: number, draft: Draft): number | undefined {
  const end = text.indexOf("'", from);
  if (end === -1) return undefined;
  draft.text += text.slice(from, end);
  return end + 1;
}

function readDouble(text: string, from: number, draft: Draft): number | undefined {
  for (let at = from; at < text.length; at += 1) {
    const unit = text.charAt(at);
    if (unit === '"') return at + 1;
    const next = text.charAt(at + 1);
    if (unit === "\\" && (next === '"' || next === "\\")) at += 1;
    draft.text += text.charAt(at);
  }
  return undefined;
}

function readPlain(text: string, at: number, draft: Draft): number {
  const unit = text.charAt(at);
  const next = String.fromCodePoint(text.codePointAt(at + 1) ?? 0);
  if (unit === "\\" && at + 1 < text.length && !KEEPS_BACKSLASH.test(next)) {
    draft.text += text.charAt(at + 1);
    return at + 2;
  }
  if (unit === "=" && draft.equals === -1) draft.equals = draft.text.length;
  if (unit === ",") draft.commas.push(draft.text.length);
  draft.text += unit;
  return at + 1;
}
