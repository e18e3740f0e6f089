import { SessionError } from "../../domain/errors.js";
import { linesOf, type TextSource } from "../../domain/text-lines.js";
import type { Awaitable } from "../../ports/awaitable.js";
import { RecordingError } from "./recording-error.js";
import { decodeHead, decodeLine, type RecordingHead, type RecordingLine } from "./recording-line.js";

/** Takes whole lines, each with its line end, one at a time and in order. */
export type RecordingSink = { write(text: string): Awaitable<void>; close?(): Awaitable<void> };

/** Where a recording goes: a path, or anything that takes lines. */
export type RecordingTarget = string | RecordingSink;

/** Where a recording is: a path, or its text in pieces of any size. */
export type RecordingSource = string | { readonly text: TextSource };

/** A line and its number. */
export type NumberedLine = { readonly number: number; readonly line: RecordingLine };

/** Opens the target for writing; only its owner may read the file. Rejects with `RecordingError`: `exists` for a file that may not be replaced. */
export async function openTarget(
  target: RecordingTarget,
  options: { readonly replace: boolean },
): Promise<RecordingSink> {
  if (typeof target !== "string") return target;
  const { open } = await import("node:fs/promises");
  try {
    const file = await open(target, options.replace ? "w" : "wx", 0o600);
    return { write: async (text) => void (await file.appendFile(text, "utf8")), close: () => file.close() };
  } catch (cause) {
    const exists = cause instanceof Error && "code" in cause && cause.code === "EEXIST";
    if (exists)
      throw new RecordingError("exists", "there is such a file; replace: true lets it be replaced", { cause });
    throw new RecordingError("unwritable", "the file could not be made", { cause });
  }
}

/** The lines of one type. */
export function ofType<T extends RecordingLine["type"]>(
  lines: readonly NumberedLine[],
  type: T,
): (NumberedLine & { readonly line: Extract<RecordingLine, { readonly type: T }> })[] {
  return lines.filter(({ line }) => line.type === type) as never;
}

/** Reads a whole recording. Rejects with `RecordingError`, naming the line where one is damaged. */
export async function readRecording(
  source: RecordingSource,
): Promise<{ readonly head: RecordingHead; readonly lines: readonly NumberedLine[] }> {
  let head: RecordingHead | undefined;
  const lines: NumberedLine[] = [];
  let last = 0;
  try {
    for await (const { text, number } of linesOf(await textOf(source))) {
      last = number;
      if (head === undefined) head = decodeHead(text);
      else if (text !== "") lines.push({ number, line: decodeLine(text, number) });
    }
  } catch (cause) {
    if (!(cause instanceof SessionError)) throw cause;
    if (cause.kind === "load") throw new RecordingError("unreadable", "the file could not be read", { cause });
    throw new RecordingError("damaged", `line ${last + 1} is no text`, { line: last + 1, cause });
  }
  if (head === undefined) throw new RecordingError("damaged", "line 1: the file is empty", { line: 1 });
  return { head, lines };
}

async function textOf(source: RecordingSource): Promise<TextSource> {
  if (typeof source !== "string") return source.text;
  const { createReadStream } = await import("node:fs");
  return createReadStream(source) as AsyncIterable<Uint8Array>;
}
