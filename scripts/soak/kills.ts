import type { Revision } from "../../src/domain/session.js";
import { startChild } from "./child.js";
import { openStore, type StorePlace } from "./store-place.js";
import type { WriterTask } from "./writer.js";
import { type Acknowledged, checkSession, type Found } from "./check-session.js";

/** What was counted; every fault is a line of text. */
export type KillReport = {
  readonly kills: number;
  readonly acknowledged: number;
  /** Operations that were stored although their writer died before it knew. */
  readonly unanswered: number;
  readonly messages: number;
  readonly faults: readonly string[];
};

/** So many kills share their sessions, which would else grow too long to be checked. */
const SHARED = 40;

/**
 * Kills writers at random moments, some at a time; each one's successor repeats what had no answer. After every round the sessions are read by a
 * store that was not there, and compared with what had been acknowledged.
 */
export async function killWriters(
  place: StorePlace,
  kills: number,
  { lanes = 3, tell = () => {} }: { readonly lanes?: number; tell?(line: string): void } = {},
): Promise<KillReport> {
  const total = { kills: 0, acknowledged: 0, unanswered: 0, messages: 0, faults: [] as string[] };
  for (let round = 0; total.kills < kills; round++) {
    const each = Math.ceil(Math.min(SHARED, kills - total.kills) / lanes);
    const names = Array.from({ length: lanes }, (_, lane) => `w${lane}`);
    const sessions = (name: string): string[] => [`shared ${round}`, `of ${name} ${round}`];
    const ends = await Promise.all(names.map((name) => killOneAfterAnother(place, name, sessions(name), each)));
    total.kills += each * lanes;
    total.faults.push(...ends.flatMap(({ faults }) => faults));
    const found = await check(
      place,
      new Set(names.flatMap(sessions)),
      ends.flatMap(({ acknowledged }) => acknowledged),
    );
    total.acknowledged += ends.reduce((sum, { acknowledged }) => sum + acknowledged.length, 0);
    total.unanswered += found.unanswered;
    total.messages += found.messages;
    total.faults.push(...found.faults);
    tell(`${total.kills} kills, ${total.acknowledged} acknowledged, ${total.faults.length} faults`);
  }
  return total;
}

type LaneEnd = { readonly acknowledged: readonly Acknowledged[]; readonly faults: readonly string[] };

async function killOneAfterAnother(
  place: StorePlace,
  name: string,
  sessions: readonly string[],
  kills: number,
): Promise<LaneEnd> {
  const acknowledged: Acknowledged[] = [];
  const faults: string[] = [];
  for (let kill = 0, next = 0; kill < kills; kill++) {
    const task: WriterTask = { role: "writer", place, name, next, sessions };
    const writer = startChild(task);
    await writer.printed(1 + Math.floor(Math.random() * 8));
    await new Promise<void>((resolve) => void setTimeout(resolve, Math.random() * 6));
    const isAlive = writer.process.exitCode === null;
    writer.process.kill("SIGKILL");
    const noise = await writer.ended;
    if (!isAlive || noise !== "") faults.push(`a writer ended by itself: ${noise.slice(0, 2_000)}`);
    for (const line of writer.lines) {
      const [, session = "", number = "", revision = ""] = /^(.*) (\d+) (\d+)$/.exec(line) ?? [];
      acknowledged.push({ name, session, number: Number(number), revision: Number(revision) satisfies Revision });
      next = Number(number) + 1;
    }
  }
  return { acknowledged, faults };
}

async function check(
  place: StorePlace,
  sessions: Iterable<string>,
  acknowledged: readonly Acknowledged[],
): Promise<Found> {
  const store = openStore(place);
  const found: Found[] = [];
  for (const session of sessions) {
    found.push(
      await checkSession(
        store,
        session,
        acknowledged.filter((one) => one.session === session),
      ),
    );
  }
  await store.close?.();
  return {
    unanswered: found.reduce((sum, one) => sum + one.unanswered, 0),
    messages: found.reduce((sum, one) => sum + one.messages, 0),
    faults: found.flatMap(({ faults }) => faults),
  };
}
