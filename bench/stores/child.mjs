import assert from "node:assert/strict";
import { openStore } from "./open.mjs";

/** Measures one store in this process, checks what it then holds, and prints what it cost: `node child.mjs <place> <task>`. */
const [place, task] = process.argv.slice(2).map((text) => JSON.parse(text));
const store = await openStore(place);
const measured = task.sessions === undefined ? await oneSession(task) : await manySessions(task);
await store.close?.();
console.log(JSON.stringify({ ...measured, peakMiB: process.resourceUsage().maxRSS / 1024 }));

/**
 * One session of `count` messages: what an append to it takes, a load of it, and a load of what is new. The first appends and loads of what is
 * new are not counted: what a save of the whole left to be collected, here and in a server, is no cost of theirs.
 */
async function oneSession({ count, appends, loads }) {
  const messages = Array.from({ length: count }, (_, n) => message(n));
  let revision = await store.save("s", { messages, metadata: {}, revision: 0 });
  messages.length = 0;
  const append = await timesOf(2 * appends, async (n) => {
    revision = await store.append("s", delta(`o${n}`, revision, count + n));
  });
  const total = count + 2 * appends;
  const known = revision - 1;
  const tail = await timesOf(2 * appends, async () => {
    const { from = 0, messages: rest } = await store.load("s", known);
    assert.equal(from + rest.length, total);
  });
  const load = await timesOf(loads, async () => {
    const session = await store.load("s");
    assert.equal(session.messages.length, total, "messages that were stored are missing");
    assert.equal(session.messages.at(-1).id, `m${total - 1}`);
  });
  return { append: append.slice(appends), tail: tail.slice(appends), load };
}

/** Many sessions at once, one append and one load each; the value is what all of them took together. */
async function manySessions({ sessions, rounds }) {
  const ids = Array.from({ length: sessions }, (_, n) => `s${n}`);
  const revisions = new Map(ids.map((id) => [id, 0]));
  const atOnce = await timesOf(rounds, async (round) => {
    await Promise.all(
      ids.map(async (id) => {
        revisions.set(id, await store.append(id, delta(`o${round}`, revisions.get(id), round)));
        await store.load(id, revisions.get(id));
      }),
    );
  });
  for (const id of ids) assert.equal((await store.load(id)).messages.length, rounds, "an append is missing");
  return { atOnce };
}

async function timesOf(count, run) {
  const times = [];
  for (let n = 0; n < count; n++) {
    const before = performance.now();
    await run(n);
    times.push(performance.now() - before);
  }
  return times;
}

function message(n) {
  return { role: "user", id: `m${n}`, at: 1, content: [{ type: "text", text: "x".repeat(200) }] };
}

function delta(operationId, baseRevision, n) {
  return { operationId, baseRevision, messages: [message(n)], metadata: { n } };
}
