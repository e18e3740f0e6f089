import { createHash } from "node:crypto";
import { MemoryError } from "../../domain/errors.js";
import { isJsonObject, type Json, jsonKey, type JsonObject } from "../../domain/json.js";
import type { MemoryEntry } from "../../domain/memory.js";
import { safeLabel } from "../../domain/safe-label.js";
import { textKey, textOfKey } from "../../domain/text-key.js";
import { textTerms } from "../../domain/text-terms.js";

/** Fields of metadata as they are looked up. */
export type EncodedFields = readonly (readonly [name: string, value: string])[];

/** An entry as a database keeps it; made before any lock is taken. */
export type EncodedEntry = {
  readonly id: string;
  readonly content: string;
  readonly metadata: string;
  readonly fields: EncodedFields;
  readonly terms: readonly string[];
};

/** What is to be written of an entry. */
export function encodeEntry({ id, content, metadata }: MemoryEntry): EncodedEntry {
  return {
    id: textKey(id),
    content: textKey(content),
    metadata: JSON.stringify(metadata),
    fields: encodedFields(metadata),
    terms: indexTerms(content),
  };
}

/** The entry of a row; throws `MemoryError("search")` for one that cannot be read. */
export function decodeEntry(row: Readonly<Record<string, unknown>> | undefined, score: number): MemoryEntry {
  const id = textIn(row, "id");
  const content = textIn(row, "content");
  const metadata = metadataOf(row);
  if (id !== undefined && content !== undefined && metadata !== undefined) return { id, content, metadata, score };
  throw new MemoryError("search", `the entry "${safeLabel(id ?? "")}" is damaged`);
}

/** The text in a column, as it was before `textKey`; nothing where there is none. */
export function textIn(row: Readonly<Record<string, unknown>> | undefined, column: string): string | undefined {
  const value = row?.[column];
  return typeof value === "string" ? textOfKey(value) : undefined;
}

function metadataOf(row: Readonly<Record<string, unknown>> | undefined): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(String(row?.["metadata"]));
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

const LONGEST_TERM = 256;

/** The terms of a text as indexes hold them: they would cut a very long one, so that two were the same. */
export function indexTerms(text: string): readonly string[] {
  return textTerms(text).map((term) => (term.length <= LONGEST_TERM ? term : hashOf(term)));
}

const LONGEST_INDEXED = 200;
const HASHED = /^#[0-9a-f]{64}$/;

/** The fields of metadata or of a filter; one that is undefined equals nothing that is stored. */
export function encodedFields(fields: JsonObject = {}): EncodedFields {
  return Object.entries<Json | undefined>(fields).map(([name, value]) => [
    fieldName(name),
    value === undefined ? "" : fieldValue(value),
  ]);
}

/** Their names and their values, as two lists. */
export function fieldLists(fields: EncodedFields): [names: string[], values: string[]] {
  return [fields.map(([name]) => name), fields.map(([, value]) => value)];
}

/** An index has no room for a long name: it goes by its hash, and so does a short one that looks like such a hash. */
function fieldName(name: string): string {
  const text = textKey(name);
  return text.length <= LONGEST_INDEXED && !HASHED.test(text) ? text : `#${hashOf(text)}`;
}

/** One text for all JSON that is the same, whatever the order of keys; a long one by its hash, which is no JSON. */
function fieldValue(value: Json): string {
  const text = jsonKey(value);
  return text.length <= LONGEST_INDEXED ? text : `#${hashOf(text)}`;
}

function hashOf(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
