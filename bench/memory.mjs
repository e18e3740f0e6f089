import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { InMemoryMemory } from "ennead/memory/in-memory";
import { PostgresMemory } from "ennead/memory/postgres";
import { SqliteMemory } from "ennead/memory/sqlite";
import { figure, median } from "./figures.mjs";
import { serverOf, vectorServer } from "./stores/servers.mjs";

const DIMENSIONS = 256;

/**
 * Time of one search among 100,000 entries of 20 words, whose words are as unevenly frequent as those of a language. A query is four words of one
 * entry, frequent ones among them. Every memory must give what the one in the process gives; with vectors, what comparing all of them gives, but for
 * what the recall says. It is CPU time; for a server, which has its own, that by the clock.
 */
export async function memoryFigures({ quick }) {
  const entries = entriesOf(quick ? 300 : 100_000);
  const queries = Array.from({ length: quick ? 5 : 200 }, (_, n) => queryOf(entries, n));
  const folder = mkdtempSync(join(tmpdir(), "ennead-bench-memory-"));
  const figures = [];
  try {
    const inMemory = new InMemoryMemory();
    const expected = await measured(inMemory, entries, queries);
    figures.push(figureOf("in-memory", expected));
    const words = new SqliteMemory({ path: join(folder, "words.db") });
    figures.push(figureOf("sqlite", await measured(words, entries, queries, { expected: expected.hits })));
    await words.close();
    const vectors = new SqliteMemory({ path: join(folder, "vectors.db"), embedding: { embed: vectorOf } });
    const found = await measured(vectors, entries, queries);
    await vectors.close();
    figures.push(figureOf("sqlite-vectors", found));
    const best = await bestHits(inMemory, entries, queries.slice(0, 40), found.hits);
    figures.push(recallFigure("recall", best, found.hits));
    figures.push(...(await postgresFigures(entries, queries, expected.hits)));
    figures.push(...(await postgresVectorFigures(entries, queries, best)));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return figures;
}

async function postgresFigures(entries, queries, expected) {
  const server = await serverOf("postgres");
  if (server.missing !== undefined) {
    console.warn(`memory in postgres is left out: ${server.missing}`);
    return [];
  }
  const { default: pg } = await import("pg");
  const schema = `ennead_bench_${process.pid}`;
  const tables = ["memory_postings", "memory_frequencies", "memory_fields", "memories"]
    .map((name) => `${schema}.ennead_${name}`)
    .join(", ");
  const pool = new pg.Pool({ connectionString: server.url });
  try {
    const memory = new PostgresMemory({ pool, schema, timeoutMs: 120_000 });
    // What a server does by itself some time after so many entries were stored.
    const settle = () => pool.query(`VACUUM ANALYZE ${tables}`);
    const found = await measured(memory, entries, queries, { expected, settle });
    return [figureOf("postgres", found, "clock")];
  } finally {
    await pool.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`);
    await pool.end();
    await server.stop();
  }
}

/**
 * Filled like an import of very many: the index of vectors is made afterwards, as `docs/memory.md` tells; its making is part of what a store takes.
 */
async function postgresVectorFigures(entries, queries, best) {
  const server = await vectorServer();
  if (server.missing !== undefined) {
    console.warn(`memory in postgres by vectors is left out: ${server.missing}`);
    return [];
  }
  const { default: pg } = await import("pg");
  const schema = `ennead_bench_vectors_${process.pid}`;
  const pool = new pg.Pool({ connectionString: server.url });
  try {
    const memory = new PostgresMemory({ pool, schema, timeoutMs: 600_000, embedding: { embed: vectorOf } });
    const tables = `${schema}.ennead_memory_`;
    await pool.query("CREATE EXTENSION IF NOT EXISTS vector");
    await memory.store(entries[0]);
    await pool.query(`DROP INDEX ${tables}hnsw_1`);
    const makeIndex = async () => {
      await pool.query(
        `SET maintenance_work_mem = '512MB';
        CREATE INDEX ennead_memory_hnsw_1 ON ${tables}vectors
          USING hnsw ((vector::vector(${DIMENSIONS})) vector_cosine_ops) WHERE space = 1`,
      );
    };
    const settle = async () => {
      for (const name of ["postings", "frequencies", "fields", "vectors"])
        await pool.query(`VACUUM ANALYZE ${tables}${name}`);
    };
    const found = await measured(memory, entries, queries, { finish: makeIndex, settle });
    const { note, ...rest } = figureOf("postgres-vectors", found, "clock");
    const place = server.inWasm ? "PGlite, in WASM, one process, " : "";
    return [{ ...rest, note: `${place}${note}` }, recallFigure("postgres-recall", best, found.hits)];
  } finally {
    await pool.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`);
    await pool.end();
    await server.stop();
  }
}

/** How many of the best hits are found, and with the same scores. */
function recallFigure(name, best, hits) {
  let wanted = 0;
  let found = 0;
  for (const [n, expected] of best.entries()) {
    const scores = new Map(hits[n]);
    for (const [id, score] of expected) {
      wanted += 1;
      if (!scores.has(id)) continue;
      found += 1;
      assert.ok(Math.abs(scores.get(id) - score) < 1e-5, "a score is not that of its vector");
    }
  }
  return figure(`memory.${name}`, {
    value: (100 * found) / wanted,
    note: `${found} of the ${wanted} best hits of all`,
  });
}

/** What comparing everything gives for each query, as many as were found. */
async function bestHits(words, entries, queries, hits) {
  const units = entries.map(({ content }) => unitOf(vectorOf(content)));
  const best = [];
  for (const [n, query] of queries.entries()) {
    const byWords = await words.search({ ...query, topK: entries.length });
    best.push(bestOf(units, unitOf(vectorOf(query.query)), { query, entries, byWords, count: hits[n].length }));
  }
  return best;
}

function bestOf(units, unit, { query, entries, byWords, count }) {
  const words = new Map(byWords.map(({ id, score }) => [id, score]));
  const scores = units.map((other, n) => {
    const { id, metadata } = entries[n];
    if (query.filter !== undefined && metadata.user !== query.filter.user) return [id, Number.NEGATIVE_INFINITY];
    const cosine = unit.reduce((sum, value, at) => sum + value * other[at], 0);
    return [id, cosine + (words.get(id) ?? 0) * (1 - cosine)];
  });
  return scores.sort(([, a], [, b]) => b - a).slice(0, count);
}

function unitOf(vector) {
  const length = Math.hypot(...vector);
  return vector.map((value) => value / length);
}

async function measured(memory, entries, queries, { expected, finish, settle } = {}) {
  const stored = watch();
  await fill(memory, entries);
  await finish?.();
  const perStore = mapped(stored(), (ms) => ms / entries.length);
  await settle?.();
  const times = [];
  const hits = [];
  for (const [n, query] of queries.entries()) {
    const searched = watch();
    const found = await memory.search(query);
    times.push(searched());
    hits.push(found.map(({ id, score }) => [id, Number(score.toFixed(6))]));
    assert.ok(found.length > 0, "a query found nothing");
    if (expected !== undefined) assert.deepEqual(hits[n], expected[n], "two memories disagree");
  }
  return { times, hits, perStore };
}

/** Milliseconds since it was made, by the clock and of the processor. */
function watch() {
  const clock = performance.now();
  const used = process.cpuUsage();
  return () => {
    const { user, system } = process.cpuUsage(used);
    return { clock: performance.now() - clock, cpu: (user + system) / 1_000 };
  };
}

const mapped = ({ clock, cpu }, change) => ({ clock: change(clock), cpu: change(cpu) });

async function fill(memory, entries) {
  for (let at = 0; at < entries.length; at += 1_000) {
    const some = entries.slice(at, at + 1_000);
    if (memory.storeAll === undefined) for (const entry of some) await memory.store(entry);
    else await memory.storeAll(some);
  }
}

function figureOf(name, { times, perStore }, by = "cpu") {
  const sorted = times.map((time) => time[by]).sort((a, b) => a - b);
  const late = sorted[Math.floor(sorted.length * 0.95)];
  const clock = median(times.map((time) => time.clock));
  const beside = by === "cpu" ? `${clock.toFixed(1)} ms by the clock` : "by the clock";
  const note = `${beside}, 95 % within ${late.toFixed(1)} ms, a store takes ${perStore[by].toFixed(2)} ms`;
  return figure(`memory.${name}`, { value: median(sorted), note });
}

function entriesOf(count) {
  const random = randomOf(1);
  const word = wordsOf(30_000, random);
  return Array.from({ length: count }, (_, n) => ({
    id: `${n}`,
    content: Array.from({ length: 20 }, word).join(" "),
    metadata: { user: `user ${n % 100}` },
  }));
}

/** Every other one asks for one user of a hundred. */
function queryOf(entries, n) {
  const entry = entries[Math.floor((n * entries.length) / 211) % entries.length];
  const query = entry.content.split(" ").slice(0, 4).join(" ");
  return n % 2 === 0 ? { query } : { query, filter: { user: entry.metadata.user } };
}

/** The nth word comes with a frequency of 1 in n. */
function wordsOf(count, random) {
  const sums = [];
  let sum = 0;
  for (let n = 1; n <= count; n++) sums.push((sum += 1 / n));
  return () => {
    const wanted = random() * sum;
    let low = 0;
    for (let high = count - 1; low < high; ) {
      const middle = (low + high) >> 1;
      if (sums[middle] < wanted) low = middle + 1;
      else high = middle;
    }
    return `word${low}`;
  };
}

/** The same numbers in every run. */
function randomOf(seed) {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** A vector that follows from the words, near for texts with many in common. */
function vectorOf(text) {
  const vector = new Float32Array(DIMENSIONS);
  for (const word of text.split(" ")) {
    const random = randomOf([...word].reduce((hash, sign) => Math.imul(hash, 31) + sign.charCodeAt(0), 7));
    for (let at = 0; at < 8; at++) vector[Math.floor(random() * DIMENSIONS)] += random() - 0.5;
  }
  return vector;
}
