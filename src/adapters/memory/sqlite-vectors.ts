import { MemoryError } from "../../domain/errors.js";
import type { Embedded } from "./embedder.js";
import { numberOf } from "./sqlite-entries.js";
import type { MemoryStatements, SqliteMemoryFile } from "./sqlite-memory-file.js";
import { textIn } from "./stored-entry.js";
import { fits, fittingSpace, type Space, type VectorTable } from "./vector-space.js";

function presentSpace(sql: MemoryStatements): Space | undefined {
  const row = sql.space.get();
  if (row === undefined) return undefined;
  return { key: numberOf(row, "key"), model: String(row["model"]), dimensions: numberOf(row, "dimensions") };
}

function beginSpace(sql: MemoryStatements, model: string, vector: Float32Array): Space {
  const key = Number(sql.addSpace.run(model, vector.length).lastInsertRowid);
  return { key, model, dimensions: vector.length };
}

/** The space that the vector is stored in or compared with, like `fittingSpace`; a store begins the first one. */
export function spaceFor(sql: MemoryStatements, kind: "store" | "search", embedded: Embedded): Space | undefined {
  const first = kind === "store" ? () => beginSpace(sql, embedded.model, embedded.vector) : () => undefined;
  return fittingSpace(kind, presentSpace(sql) ?? first(), embedded);
}

/** In place of the one the entry has; to be run in a write transaction. */
export function putVector(sql: MemoryStatements, entry: number, space: Space, vector: Float32Array): void {
  sql.setVector.run(entry, space.key, bytesOf(vector));
}

/** The nearest entries of `among`, or of all, with their cosine. */
export function nearest(
  sql: MemoryStatements,
  space: Space,
  vector: Float32Array,
  { limit, among }: { readonly limit: number; readonly among: ReadonlySet<number> | undefined },
): Map<number, number> {
  const keys = among === undefined ? null : JSON.stringify([...among]);
  const rows = sql.near.all(bytesOf(vector), space.key, keys, keys, limit);
  return new Map(rows.map((row) => [numberOf(row, "entry"), numberOf(row, "cosine")]));
}

/** How near an entry is; nothing when it has no vector in the space. */
export function cosineOf(sql: MemoryStatements, entry: number, space: Space, vector: Float32Array): number | undefined {
  const cosine = sql.cosine.get(bytesOf(vector), entry, space.key)?.["cosine"];
  return typeof cosine === "number" ? cosine : undefined;
}

/** The vectors as `reembedAll` goes through them. */
export function vectorTable(file: SqliteMemoryFile): VectorTable {
  return {
    next: (after, space) =>
      file.read((sql) => {
        const row = sql.withoutVector.get(after, space?.key ?? 0);
        if (row === undefined) return undefined;
        const content = textIn(row, "content");
        if (content === undefined) throw new MemoryError("store", "an entry is damaged");
        return { key: numberOf(row, "key"), content };
      }),
    begin: (model, vector) =>
      file.write((sql) => {
        const present = presentSpace(sql);
        return present && fits(present, model, vector) ? present : beginSpace(sql, model, vector);
      }),
    put: (key, space, vector) =>
      file.write((sql) => {
        // Deleted or replaced meanwhile: keys are not used twice.
        if (sql.entry.get(key) === undefined) return false;
        putVector(sql, key, space, vector);
        return true;
      }),
  };
}

function bytesOf(vector: Float32Array): Uint8Array {
  return new Uint8Array(vector.buffer, vector.byteOffset, vector.byteLength);
}
