import fc, { type Arbitrary } from "fast-check";
import type { Json, JsonObject } from "../../domain/json.js";

/** Texts that break what reads them: no text at all, half a character, what looks like markup, JSON, a path or a mark of direction. */
const HOSTILE = [
  "",
  " ",
  "\n",
  "\0",
  "\ud800",
  "漢字🧭",
  "e\u0301",
  "\u202eabc",
  "__proto__",
  '"}',
  "</b>",
  "../..",
  "'; --",
];

/** Short texts, hostile ones among them. Shrinks to the empty text, else to few plain letters. */
export function anyText(): Arbitrary<string> {
  return fc.oneof(
    { withCrossShrink: true },
    { weight: 4, arbitrary: fc.string({ maxLength: 12 }) },
    fc.constantFrom(...HOSTILE),
    fc.string({ unit: "binary", maxLength: 6 }),
  );
}

/** A few plain letters, for where a text must be there and say nothing. */
export function anyWord(): Arbitrary<string> {
  return fc.string({ unit: fc.constantFrom("a", "b", "c"), minLength: 1, maxLength: 3 });
}

/** JSON of at most two levels, as it comes out of JSON text. */
export function anyJson(): Arbitrary<Json> {
  return fc.jsonValue({ maxDepth: 2, stringUnit: "grapheme" }).map((value) => throughText(value as Json));
}

/** A JSON object with few fields, hostile names among them. */
export function anyJsonObject(): Arbitrary<JsonObject> {
  const field = fc.tuple(fc.oneof(anyWord(), anyText()), anyJson());
  return fc.array(field, { maxLength: 3 }).map((fields) => throughText(Object.fromEntries(fields)));
}

/** JSON text knows no negative zero, and makes `__proto__` an ordinary field. */
function throughText<T extends Json>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T;
}
