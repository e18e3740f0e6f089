import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { FieldIndex } from "../../../src/adapters/memory/field-index.js";
import { type JsonObject } from "../../../src/domain/json.js";
import { matchesMetadata } from "../../../src/domain/session-rules.js";

const value = fc.constantFrom(0, { a: 1, b: 2 }, { b: 2, a: 1 });
const fields = fc.dictionary(fc.constantFrom("a", "b", "__proto__"), value, { minKeys: 1 });
const change = fc.record({ entry: fc.integer({ min: 0, max: 7 }), metadata: fc.option(fields) });

describe("FieldIndex", () => {
  it("tells after any changes which entries matchesMetadata finds", () => {
    fc.assert(
      fc.property(fc.array(change), fields, (changes, filter) => {
        const index = new FieldIndex();
        const there = new Map<number, JsonObject>();
        for (const { entry, metadata } of changes) {
          index.delete(entry, there.get(entry) ?? {});
          there.delete(entry);
          if (metadata === null) continue;
          there.set(entry, metadata);
          index.add(entry, metadata);
        }
        const matching = [...there].filter(([, metadata]) => matchesMetadata(metadata, filter)).map(([entry]) => entry);
        const found = index.having(filter) ?? there.keys();
        expect([...found].sort()).toEqual(matching.sort());
      }),
      { numRuns: 1_000 },
    );
  });

  it("finds nothing by a field that is undefined", () => {
    const index = new FieldIndex();
    index.add(1, { a: 1 });
    expect(index.having({ a: undefined } as unknown as JsonObject)).toEqual(new Set());
  });
});
