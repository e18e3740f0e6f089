import { appendFile } from "node:fs/promises";
import type { AuditRecord } from "./audit-record.js";

/**
 * A sink that adds one line of JSON a record to a file, which is made for its owner alone; its directory must be there. Records come in the
 * order they are given, each whole and on the disk when its promise resolves. Several processes may add to one file.
 */
export function auditFile(path: string): (record: AuditRecord) => Promise<void> {
  let last: Promise<void> = Promise.resolve();
  return (record) => {
    // JSON escapes line ends within texts, and what is no character.
    const line = `${JSON.stringify(record)}\n`;
    const written = last.then(() => appendFile(path, line, { mode: 0o600, flush: true }));
    // One that failed is its caller's to hear of, and keeps no later one back.
    last = written.catch(() => undefined);
    return written;
  };
}
