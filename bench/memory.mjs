import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { InMemoryMemory } from "ennead/memory/in-memory";
import { PostgresMemory } from "ennead/memory/postgres";
import { SqliteMemory } from "ennead/memory/sqlite";
import { figure, median } from "./figures.mjs";

const DIMENSIONS = 256;

/**
 * CPU time of one search among 100,000 entries of 20 words, whose words are as unevenly frequent as those of a language. A query is four words of one
 * entry, frequent ones among them. Every memory must give what the one in the process gives.
 */
export async function memoryFigures({ quick }) {
  const entries = entriesOf(quick ? 300 : 100_000);
  const queries = Array.from({ length: quick ? 5 : 200 }, (_, n) => queryOf(entries, n));
  const folder = mkdtempSync(join(tmpdir(), "ennead-bench-memory-"));
  const figures = [];
  try {
    const expected = await measured(new InMemoryMemory(), entries, queries, undefined);
    figures.push(figureOf("in-memory", expected));
    const sqlite = new SqliteMemory({ path: join(folder, "words.db") });
    figures.push(figureOf("sqlite", await measured(sqlite, entries, queries, expected.hits)));
    const vectors = new SqliteMemory({ path: join(folder, "vectors.db"), embedding: { embed: vectorOf } });
    figures.push(figureOf("sqlite-vectors", await measured(vectors, entries, queries, undefined)));
    const url = process.env.ENNEAD_POSTGRES_URL;
    if (url !== undefined) figures.push(await postgresFigure(url, entries, queries, expected.hits));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return figures;
}

async function postgresFigure(url, entries, queries, expected) {
  const { default: pg } = await import("pg");
  const schema = `ennead_bench_${process.pid}`;
  const pool = new pg.Pool({ connectionString: url });
  try {
    return figureOf("postgres", await measured(new PostgresMemory({ pool, schema }), entries, queries, expected));
  } finally {
    await pool.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`);
    await pool.end();
  }
}

async function measured(memory, entries, queries, expected) {
  const began = process.cpuUsage();
  await fill(memory, entries);
  const { user, system } = process.cpuUsage(began);
  const storeMs = (user + system) / 1_000 / entries.length;
  const times = [];
  const hits = [];
  for (const [n, query] of queries.entries()) {
    const start = process.cpuUsage();
    const found = await memory.search(query);
    const { user, system } = process.cpuUsage(start);
    times.push((user + system) / 1_000);
    hits.push(found.map(({ id, score }) => [id, Number(score.toFixed(6))]));
    assert.ok(found.length > 0, "a query found nothing");
    if (expected !== undefined) assert.deepEqual(hits[n], expected[n], "two memories disagree");
  }
  await memory.close?.();
  return { times, hits, storeMs };
}

async function fill(memory, entries) {
  if (memory.storeAll === undefined) for (const entry of entries) await memory.store(entry);
  else for (let at = 0; at < entries.length; at += 1_000) await memory.storeAll(entries.slice(at, at + 1_000));
}

function figureOf(name, { times, storeMs }) {
  const sorted = times.toSorted((a, b) => a - b);
  const late = sorted[Math.floor(sorted.length * 0.95)];
  const note = `95 % within ${late.toFixed(1)} ms, a store takes ${storeMs.toFixed(2)} ms`;
  return figure(`memory.${name}`, { value: median(times), note });
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
