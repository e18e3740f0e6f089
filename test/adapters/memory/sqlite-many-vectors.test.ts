import { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import type { SqliteMemory } from "../../../src/adapters/memory/sqlite.js";
import { sqliteMemoryFixture } from "./sqlite-memory-fixture.js";

/** The same numbers in every run, between -1 and 1. */
function noise(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 31 - 1;
  };
}

const DIMENSIONS = 48;

/** What no vector has below 0, so that all of them lie on one side. `topic7 n` is near to the other texts on topic 7. */
const made = new Map<string, Float32Array>();

function vectorOf(text: string): Float32Array {
  const vector = made.get(text) ?? makeVector(text);
  made.set(text, vector);
  return vector;
}

function makeVector(text: string): Float32Array {
  const [topic = "", number = "0"] = text.split(" ");
  const about = noise(Number(topic.slice("topic".length)) + 1);
  const own = noise(Number(number) + 1_000);
  return Float32Array.from({ length: DIMENSIONS }, () => Math.max(0, 1 + about() + 0.3 * own()));
}

function cosine(a: Float32Array, b: Float32Array): number {
  const dot = (x: Float32Array, y: Float32Array): number => x.reduce((sum, value, n) => sum + value * (y[n] ?? 0), 0);
  return dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b));
}

const texts = Array.from({ length: 5_000 }, (_, n) => `topic${n % 50} ${n}`);
const entries = texts.map((content, n) => ({ id: content, content, metadata: { odd: n % 2, ten: n % 10 } }));
/** Words that nothing has, and numbers beyond those that are stored: the vectors alone say what is near. */
const query = (n: number): string => `topic${n} ${90_000 + n}`;

function nearestOf(all: readonly string[], text: string, topK: number): readonly string[] {
  const vector = vectorOf(text);
  const near = all.map((other) => [other, cosine(vectorOf(other), vector)] as const);
  return near
    .sort(([, a], [, b]) => b - a)
    .slice(0, topK)
    .map(([other]) => other);
}

async function found(memory: SqliteMemory, text: string, filter?: { readonly [name: string]: number }) {
  const hits = await memory.search({ query: text.replace("topic", "t0pic"), topK: 10, ...(filter && { filter }) });
  return hits.map(({ id }) => id);
}

describe("more vectors in a SqliteMemory than are compared one by one", () => {
  const asItIs = { embed: (text: string) => vectorOf(text.replace("t0pic", "topic")) };

  it("are found as if all were compared, also within a filter that many or few pass", async () => {
    await using fixture = sqliteMemoryFixture({ embedding: asItIs });
    await fixture.memory.storeAll(entries);
    for (const n of [60, 61, 62, 3, 4]) {
      expect(await found(fixture.memory, query(n))).toEqual(nearestOf(texts, query(n), 10));
      const odd = texts.filter((_, at) => at % 2 === 1);
      expect(await found(fixture.memory, query(n), { odd: 1 })).toEqual(nearestOf(odd, query(n), 10));
      const tenth = texts.filter((_, at) => at % 10 === 3);
      expect(await found(fixture.memory, query(n), { ten: 3 })).toEqual(nearestOf(tenth, query(n), 10));
    }
  });

  it("have the cosine as score, and of equal ones the one stored last comes first", async () => {
    await using fixture = sqliteMemoryFixture({ embedding: asItIs });
    const same = Array.from({ length: 2_000 }, (_, n) => ({ id: `${n}`, content: "topic1 1", metadata: {} }));
    await fixture.memory.storeAll(same);
    const hits = await fixture.memory.search({ query: "t0pic1 2", topK: 3 });
    const near = cosine(vectorOf("topic1 1"), vectorOf("topic1 2"));
    expect(hits.map(({ id }) => id)).toEqual(["1999", "1998", "1997"]);
    expect(hits[0]?.score).toBeCloseTo(near, 5);
  });

  it("that were deleted or replaced, however many and near, hide none that is there", async () => {
    await using fixture = sqliteMemoryFixture({ embedding: asItIs });
    const { memory } = fixture;
    await memory.storeAll(entries);
    const near = nearestOf(texts, query(7), texts.length);
    const far = near.at(-1) ?? "";
    for (const id of near.slice(0, 1_200)) await memory.delete(id);
    await memory.storeAll(near.slice(1_200, 2_400).map((id) => ({ id, content: far })));
    const left = texts.filter((text) => !near.slice(0, 2_400).includes(text));
    expect(await found(memory, query(7))).toEqual(nearestOf(left, query(7), 10));
  });

  it("are found in a file of the former version, which is brought up to date once", async () => {
    await using fixture = sqliteMemoryFixture({ embedding: asItIs });
    writeFormer(fixture.path);
    expect(await found(fixture.memory, query(3))).toEqual(nearestOf(texts, query(3), 10));
    expect(coded(fixture.path)).toEqual({ version: 3, chunks: 4, without: 5_000 - 4 * 1_024 });
    await fixture.memory.delete(nearestOf(texts, query(3), 1)[0] ?? "");
    expect(await found(fixture.memory, query(3))).toEqual(nearestOf(texts, query(3), 11).slice(1));
  });

  it("are those of a backup that is put back while the file is open", async () => {
    await using fixture = sqliteMemoryFixture({ embedding: asItIs });
    const { memory } = fixture;
    await memory.storeAll([]);
    const restore = fixture.backup();
    await memory.storeAll(entries);
    expect(await found(memory, query(3))).toEqual(nearestOf(texts, query(3), 10));
    await restore();
    await memory.storeAll(entries.toReversed());
    expect(await found(memory, query(3))).toEqual(nearestOf(texts, query(3), 10));
  });

  it("of a former model are compared with nothing after reembed()", async () => {
    await using fixture = sqliteMemoryFixture({ embedding: { ...asItIs, model: "former" } });
    await fixture.memory.storeAll(entries.slice(0, 1_100));
    const turned = {
      embed: (text: string) =>
        asItIs
          .embed(text)
          .toReversed()
          .map((value, n) => value + (n % 3)),
    };
    await using other = fixture.open({ embedding: { ...turned, model: "new" } });
    await other.reembed();
    const best = texts.slice(0, 1_100).sort((a, b) => {
      const to = (text: string): number => cosine(turned.embed(text), turned.embed(query(5)));
      return to(b) - to(a);
    });
    expect(await found(other, query(5))).toEqual(best.slice(0, 10));
  });
});

/** The tables as the version before had them, with the words of nothing: it is the vectors that matter here. */
function writeFormer(path: string): void {
  const database = new DatabaseSync(path);
  database.exec(`
    CREATE TABLE ennead_schema (part TEXT PRIMARY KEY, version INTEGER NOT NULL) STRICT;
    INSERT INTO ennead_schema VALUES ('memory', 1);
    CREATE TABLE ennead_memories (
      key INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, content TEXT NOT NULL, metadata TEXT NOT NULL) STRICT;
    CREATE TABLE ennead_memory_fields (
      name TEXT NOT NULL, value TEXT NOT NULL, entry INTEGER NOT NULL, PRIMARY KEY (name, value, entry)) STRICT, WITHOUT ROWID;
    CREATE INDEX ennead_memory_fields_entry ON ennead_memory_fields (entry);
    CREATE VIRTUAL TABLE ennead_memory_words USING fts5 (terms, tokenize = "ascii tokenchars '_'");
    CREATE VIRTUAL TABLE ennead_memory_vocabulary USING fts5vocab (ennead_memory_words, 'row');
    CREATE TABLE ennead_memory_totals (entries INTEGER NOT NULL, terms INTEGER NOT NULL) STRICT;
    CREATE TABLE ennead_memory_spaces (key INTEGER PRIMARY KEY, model TEXT NOT NULL, dimensions INTEGER NOT NULL) STRICT;
    CREATE TABLE ennead_memory_vectors (entry INTEGER PRIMARY KEY, space INTEGER NOT NULL, vector BLOB NOT NULL) STRICT;
    INSERT INTO ennead_memory_totals VALUES (5000, 5000);
    INSERT INTO ennead_memory_spaces VALUES (1, '', ${DIMENSIONS});
    BEGIN`);
  const entry = database.prepare("INSERT INTO ennead_memories (id, content, metadata) VALUES (?, ?, '{}')");
  const words = database.prepare("INSERT INTO ennead_memory_words (rowid, terms) VALUES (?, 'something')");
  const vector = database.prepare("INSERT INTO ennead_memory_vectors VALUES (?, 1, ?)");
  for (const text of texts) {
    const key = Number(entry.run(text, text).lastInsertRowid);
    words.run(key);
    vector.run(key, new Uint8Array(vectorOf(text).buffer));
  }
  database.exec("COMMIT");
  database.close();
}

function coded(path: string) {
  const database = new DatabaseSync(path);
  const one = (sql: string): number => Number(database.prepare(sql).get()?.["n"]);
  const counts = {
    version: one("SELECT version AS n FROM ennead_schema WHERE part = 'memory'"),
    chunks: one("SELECT count(*) AS n FROM ennead_memory_codes"),
    without: one("SELECT count(*) AS n FROM ennead_memory_vectors WHERE chunk IS NULL"),
  };
  database.close();
  return counts;
}
