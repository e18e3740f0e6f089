import { describe, expect, test } from "vitest";
import { putEntry } from "../../../src/adapters/memory/sqlite-entries.js";
import { TextLengths } from "../../../src/adapters/memory/sqlite-lengths.js";
import { openMemory } from "../../../src/adapters/memory/sqlite-memory-file.js";
import { encodeEntry } from "../../../src/adapters/memory/stored-entry.js";

describe("the lengths of entries", () => {
  test("are read anew, without those that are gone, before they take many times the room of the entries", () => {
    const file = openMemory(":memory:", "store", { busyTimeoutMs: 0, extension: undefined });
    const lengths = new TextLengths();
    const readFrom: number[] = [];
    const update = (): void =>
      file.read((sql) => {
        const get = (last: number) => {
          readFrom.push(last);
          return sql.lengths.get(last);
        };
        lengths.update({ ...sql, lengths: { get } as never });
      });
    let key = 0;
    for (let times = 0; times < 14; times++) {
      const content = "tea ".repeat(times + 1);
      file.write((sql) => {
        for (let n = 0; n < 1_024; n++) key = putEntry(sql, encodeEntry({ id: "replaced", content, metadata: {} }));
      });
      update();
      expect(lengths.of(key)).toBe(times + 1);
    }
    file.close();
    expect(readFrom.filter((last) => last === 0)).toHaveLength(2);
  });
});
