import { afterAll, beforeAll, expect, test } from "vitest";
import { childPrograms, startChild } from "../../support/child-programs.js";
import { describeWith, ownName, postgresUrl, redisUrl, stopServers } from "../../support/servers.js";
import type { StorePlace } from "../../support/store-place.js";
import { deltaOf, note } from "../../../src/testkit/claims/session-samples.js";
import { tcpProxy } from "../../support/tcp-proxy.js";
import { serverFixture } from "./server-fixture.js";
import type { WriterTask } from "./server-writer.js";

const programs = childPrograms();
let program: string;

beforeAll(async () => {
  program = await programs.bundle("test/adapters/sessions/server-writer.ts");
});
afterAll(async () => {
  programs[Symbol.dispose]();
  await stopServers();
});

/** How many writers the crash test kills for each store. */
const KILLS = Number(process.env["ENNEAD_KILLS"] ?? 40);
/** How many appends each of eight writers makes. */
const APPENDS = Number(process.env["ENNEAD_APPENDS"] ?? 60);
const LANES = 4;

const postgres = await postgresUrl();
const redis = await redisUrl();

function placeAt(kind: StorePlace["kind"], url: string) {
  const place: StorePlace = { kind, url, name: ownName() };
  return { fixture: serverFixture(place), place };
}

/** The writes of a session by writer, in their order; fails the test where one is not whole. */
function writesOf(ids: readonly string[]): Map<string, number[]> {
  const writes = new Map<string, number[]>();
  expect(ids.length % 3).toBe(0);
  for (let at = 0; at < ids.length; at += 3) {
    const [name = "", number = ""] = /^(.*)\.(\d+)\.a$/.exec(ids[at] ?? "")?.slice(1) ?? [];
    expect(ids.slice(at, at + 3)).toEqual(["a", "b", "c"].map((part) => `${name}.${number}.${part}`));
    writes.set(name, [...(writes.get(name) ?? []), Number(number)]);
  }
  return writes;
}

/** Kills writers one after the other at a random moment after some acknowledged write; answers what was acknowledged, by writer and session. */
async function killWriters(place: StorePlace, lane: number, kills: number): Promise<Map<string, number[]>> {
  const acknowledged = new Map<string, number[]>();
  for (let kill = 0; kill < kills; kill++) {
    const name = `w${lane}-${kill}`;
    const task: WriterTask = { place, name, count: 1_000_000, sessions: ["shared", `own ${lane}`] };
    await using writer = startChild(program, task);
    await writer.printed(1 + Math.floor(Math.random() * 12));
    // The moment itself is random; nothing waits for it but the kill.
    await new Promise<void>((resolve) => void setTimeout(resolve, Math.random() * 4));
    writer.process.kill("SIGKILL");
    const { noise } = await writer.ended();
    expect([noise, writer.process.signalCode]).toEqual(["", "SIGKILL"]);
    for (const line of writer.lines) {
      const [session = "", number = ""] = /^(.*) (\d+)$/.exec(line)?.slice(1) ?? [];
      const key = `${session} ${name}`;
      acknowledged.set(key, [...(acknowledged.get(key) ?? []), Number(number)]);
    }
  }
  return acknowledged;
}

function suite(kind: StorePlace["kind"], url: string): void {
  test(`eight processes that make ${APPENDS} appends each to one session lose, double and mix nothing`, {
    timeout: 60_000 + APPENDS * 1_500,
  }, async () => {
    const { fixture, place } = placeAt(kind, url);
    await using _ = fixture;
    const each = APPENDS;
    const names = Array.from({ length: 8 }, (_each, n) => `p${n}`);
    const children = names.map((name) => startChild(program, { place, name, count: each, sessions: ["shared"] }));
    const ends = await Promise.all(children.map((child) => child.ended()));
    expect(ends).toEqual(names.map(() => ({ code: 0, noise: "" })));

    const { messages, revision, metadata } = await fixture.store.load("shared");
    const writes = writesOf(messages.map(({ id }) => id));
    expect(Object.fromEntries(writes)).toEqual(
      Object.fromEntries(names.map((name) => [name, Array.from({ length: each }, (_each, n) => n)])),
    );
    expect(revision).toBe(each * names.length);
    const last = messages.at(-1)?.id.slice(0, -2);
    expect(metadata).toEqual({ ...Object.fromEntries(names.map((name) => [name, each - 1])), last });
  });

  test(`${KILLS} writers killed in mid-write leave every acknowledged write, whole and in order`, {
    timeout: 60_000 + KILLS * 1_500,
  }, async () => {
    const { fixture, place } = placeAt(kind, url);
    await using _ = fixture;
    const lanes = Array.from({ length: LANES }, (_lane, lane) => killWriters(place, lane, KILLS / LANES));
    const acknowledged = new Map((await Promise.all(lanes)).flatMap((lane) => [...lane]));
    await using reopened = fixture.open();
    let unacknowledged = 0;
    const sessions = ["shared", ...Array.from({ length: LANES }, (_lane, lane) => `own ${lane}`)];
    for (const session of sessions) {
      const { messages, revision, metadata } = await reopened.load(session);
      const writes = writesOf(messages.map(({ id }) => id));
      for (const [key, numbers] of acknowledged) {
        if (!key.startsWith(`${session} `)) continue;
        const stored = writes.get(key.slice(session.length + 1)) ?? [];
        expect(stored.slice(0, numbers.length)).toEqual(numbers);
        expect(stored.length - numbers.length).toBeLessThanOrEqual(1);
        unacknowledged += stored.length - numbers.length;
      }
      for (const [name, numbers] of writes) expect(metadata[name]).toBe(numbers.at(-1));
      expect(revision).toBe(messages.length / 3);
      const last = metadata["last"] as string;
      const again = { operationId: last, baseRevision: 0, messages: [] };
      expect(await reopened.append(session, again)).toBe(revision);
      expect(await reopened.append(session, { operationId: "next", baseRevision: revision, messages: [] })).toBe(
        revision + 1,
      );
    }
    console.info(`${place.kind}: ${KILLS} kills, ${unacknowledged} writes were stored and not acknowledged`);
  });

  test("eight processes that open a new store at once make it once", async () => {
    const { fixture, place } = placeAt(kind, url);
    await using _ = fixture;
    const names = Array.from({ length: 8 }, (_each, n) => `p${n}`);
    const children = names.map((name) => startChild(program, { place, name, count: 1, sessions: [name] }));
    const ends = await Promise.all(children.map((child) => child.ended()));
    expect(ends).toEqual(names.map(() => ({ code: 0, noise: "" })));
    expect((await fixture.store.list()).items.map(({ id }) => id).sort()).toEqual(names);
  });
}

describeWith("PostgresSessionStore in several processes", postgres, (url) => {
  suite("postgres", url);

  test("a process that is stopped in mid-write holds the session no longer than its timeout", async () => {
    const { fixture, place } = placeAt("postgres", url);
    await using _ = fixture;
    await using proxy = await tcpProxy(url);
    await fixture.store.append("s", deltaOf("o", 0, [note("m")]));
    const held = proxy.disturb('UPDATE "', "hold");
    const task = { name: "p", count: 1, sessions: ["s"] };
    await using writer = startChild(program, { ...task, place: { ...place, url: proxy.url, timeoutMs: 4_000 } });
    await held;
    writer.process.kill("SIGSTOP");
    expect(await fixture.store.append("s", deltaOf("p", 1, [note("n")]))).toBe(2);
    expect((await fixture.store.load("s")).messages).toEqual([note("m"), note("n")]);
  });
});
describeWith("RedisSessionStore in several processes", redis, (url) => suite("redis", url));
