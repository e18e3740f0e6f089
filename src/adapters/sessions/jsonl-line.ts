import { createHash } from "node:crypto";
import { isJsonObject, type JsonObject } from "../../domain/json.js";

/** The version of the format. */
export const VERSION = 1;
const MARK = '{"ennead":';
const FRAME = /^\{"ennead":(\d{1,6}),"length":(\d{1,15}),"sum":"([0-9a-f]{16})",/;
const CUT_FRAME = /^\{"ennead":[0-9a-z",:]*$/;

/** No frame is longer, in bytes. */
export const FRAME_LIMIT = 72;

/**
 * What a line, or a part of one, turned out to be. `torn` is what a writer leaves that dies in the middle of a record: shorter than it says
 * itself, or cut before it could say so. What is neither whole nor torn was changed after it was written.
 */
export type LinePiece =
  | { readonly type: "whole"; readonly start: number; readonly sum: string; readonly fields: JsonObject }
  | { readonly type: "newer"; readonly start: number; readonly version: number }
  | { readonly type: "torn" | "damaged"; readonly length: number };

/** A record as it is written, without the line feed. `members` is the text of a JSON object without its braces. */
export function encodeLine(members: string): { readonly text: string; readonly sum: string } {
  const rest = `${members}}`;
  const sum = digestOf(rest);
  const text = `${MARK}${VERSION},"length":${Buffer.byteLength(rest)},"sum":"${sum}",${rest}`;
  return { text, sum };
}

/** The sum that a record beginning here says it has. */
export function sumAt(bytes: Buffer): string | undefined {
  return FRAME.exec(bytes.toString("latin1", 0, FRAME_LIMIT))?.[3];
}

/**
 * A line as the records in it. There is one, but where a writer died between the look at the end of the file and the write of another: then
 * the record follows what was left on the same line.
 */
export function piecesOf(line: Buffer): readonly LinePiece[] {
  if (isBlank(line)) return [];
  const whole = wholeAt(line, 0);
  if (whole !== undefined) return [whole];
  for (let at = line.indexOf(MARK, 1); at !== -1; at = line.indexOf(MARK, at + 1)) {
    const glued = wholeAt(line, at);
    if (glued !== undefined) return [...brokenIn(line.subarray(0, at)), glued];
  }
  return brokenIn(line);
}

/** What no record is whole in, as the parts it has: each that several writers left of theirs at one end of the file begins with a frame. */
function brokenIn(text: Buffer): readonly LinePiece[] {
  const pieces: LinePiece[] = [];
  let start = 0;
  for (let at = text.indexOf(MARK, 1); at !== -1; at = text.indexOf(MARK, at + 1)) {
    if (!beginsFrame(text.toString("latin1", at, at + FRAME_LIMIT))) continue;
    pieces.push(broken(text.subarray(start, at)));
    start = at;
  }
  return [...pieces, broken(text.subarray(start))];
}

/** True for a frame and for one that was cut off at the end of the text. */
function beginsFrame(text: string): boolean {
  return FRAME.test(text) || CUT_FRAME.test(text);
}

function isBlank(line: Buffer): boolean {
  return line.every((byte) => byte === 0x20 || byte === 0x09 || byte === 0x0d);
}

function wholeAt(line: Buffer, start: number): LinePiece | undefined {
  const frame = FRAME.exec(line.toString("latin1", start, start + FRAME_LIMIT));
  if (frame === null) return undefined;
  const [head, version, length, sum = ""] = frame;
  const end = start + head.length + Number(length);
  // A carriage return may have been added by whoever copied the file.
  if (end > line.length || !isBlank(line.subarray(end))) return undefined;
  const rest = line.subarray(start + head.length, end);
  if (digestOf(rest) !== sum) return undefined;
  if (Number(version) !== VERSION) return { type: "newer", start, version: Number(version) };
  const fields = parsed(`{${rest.toString()}`);
  return fields && { type: "whole", start, sum, fields };
}

function broken(text: Buffer): LinePiece {
  const frame = FRAME.exec(text.toString("latin1", 0, FRAME_LIMIT));
  // Zeros are what some file systems leave of a write that a power failure cut, in place of all of it or of its end. No record ends in one.
  const length = text.findLastIndex((byte) => byte !== 0) + 1;
  const short = frame !== null && length < frame[0].length + Number(frame[2]);
  const unframed = frame === null && text[0] === 0x7b && text[length - 1] !== 0x7d;
  return { type: short || unframed || length === 0 ? "torn" : "damaged", length: text.length };
}

function parsed(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function digestOf(text: string | Buffer): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 16);
}
