import type { FileHandle } from "node:fs/promises";

/** A line without its feed; `terminated` unless the file ends in it. */
export type Line = { readonly offset: number; readonly bytes: Buffer; readonly terminated: boolean };

const CHUNK = 1024 * 1024;

/** The lines of a part of a file, in order, as many at a time as a read of a megabyte ends; `from` is the begin of one. */
export async function* linesOf(handle: FileHandle, from: number, to: number): AsyncGenerator<readonly Line[]> {
  let offset = from;
  let begun: Buffer[] = [];
  for (let position = from; position < to; ) {
    const chunk = Buffer.allocUnsafe(Math.min(CHUNK, to - position));
    const { bytesRead } = await handle.read(chunk, 0, chunk.length, position);
    if (bytesRead === 0) break;
    position += bytesRead;
    const lines: Line[] = [];
    let start = 0;
    for (let end; (end = chunk.subarray(0, bytesRead).indexOf(0x0a, start)) !== -1; start = end + 1) {
      const bytes = Buffer.concat([...begun, chunk.subarray(start, end)]);
      lines.push({ offset, bytes, terminated: true });
      offset += bytes.length + 1;
      begun = [];
    }
    if (start < bytesRead) begun.push(chunk.subarray(start, bytesRead));
    yield lines;
  }
  if (begun.length > 0) yield [{ offset, bytes: Buffer.concat(begun), terminated: false }];
}

/** As many bytes from there as the file has, up to `length`. */
export async function bytesAt(handle: FileHandle, position: number, length: number): Promise<Buffer> {
  const bytes = Buffer.alloc(length);
  let filled = 0;
  while (filled < length) {
    const { bytesRead } = await handle.read(bytes, filled, length - filled, position + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return bytes.subarray(0, filled);
}
