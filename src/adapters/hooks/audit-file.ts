import { open } from "node:fs/promises";
import { checkValues, NAME } from "../../domain/check-values.js";
import type { AuditRecord } from "./audit-record.js";

/**
 * A sink that adds one line of JSON a record to a file, which is made for its owner alone; its directory must be there. Records come in the
 * order they are given, each whole and on the disk when its promise resolves. Several processes may add to one file. Throws
 * `CompositionError("invalid-config")` for what is no path.
 */
export function auditFile(path: string): (record: AuditRecord) => Promise<void> {
  checkValues("auditFile", { path: path ?? null }, { path: NAME });
  let last: Promise<void> = Promise.resolve();
  let torn = false;
  const add = async (line: Buffer): Promise<void> => {
    await using file = await open(path, "a", 0o600);
    // In one write, since another process may write between two; a full disk may take a part of it.
    const { bytesWritten } = await file.write(torn ? Buffer.concat([LINE_END, line]) : line);
    torn = bytesWritten < line.length + (torn ? 1 : 0);
    if (torn) throw new Error("only a part of the record was written");
    await file.sync();
  };
  return (record) => {
    // JSON escapes line ends within texts, and what is no character.
    const line = Buffer.from(`${JSON.stringify(record)}\n`);
    const written = last.then(() => add(line));
    // One that failed is its caller's to hear of, and keeps no later one back.
    last = written.catch(() => undefined);
    return written;
  };
}

const LINE_END = Buffer.from("\n");
