import { SessionError } from "../../domain/errors.js";
import type { Session } from "../../domain/session.js";
import type { SessionStore } from "../../ports/session-store.js";
import { expectEqual, expectThat } from "./expectations.js";
import { appendTo, loadFrom, type SessionStoreClaim } from "./session-fixture.js";
import { deltaOf, note } from "./session-samples.js";

const WRITERS = 50;
/** Each conflict of one writer is the success of another, so fair stores need far fewer. */
const ATTEMPTS = 1_000;

/** Many at once: nothing is lost, doubled or seen half done. */
export const sessionRaceClaims: readonly SessionStoreClaim[] = [
  {
    id: "save-writers",
    title: "fifty writers that save at once and retry on conflict lose nothing",
    needs: "compare",
    async check({ store }) {
      await Promise.all(
        writers(async (id) => {
          const session = await loadFrom(store, "s");
          await store.save("s", { ...session, messages: [...session.messages, note(id)] });
        }),
      );
      await expectAllWriters(store);
    },
  },
  {
    id: "append-writers",
    title: "fifty writers that append at once and retry on conflict lose nothing",
    needs: "append",
    async check({ store }) {
      const append = appendTo(store);
      await Promise.all(
        writers(async (id) => {
          const { revision } = await loadFrom(store, "s");
          await append("s", deltaOf(id, revision, [note(id)]));
        }),
      );
      await expectAllWriters(store);
      expectEqual((await loadFrom(store, "s")).revision, WRITERS, "revision");
    },
  },
  {
    id: "patch-writers",
    title: "fifty patches at once, beside turns that write, lose no key, no message and no write to a conflict",
    needs: "append",
    async check({ store }) {
      const append = appendTo(store);
      const keys = Array.from({ length: WRITERS }, (_, n) => `k${n}`);
      const turns = async (): Promise<void> => {
        for (let n = 0; n < 10; n++) await append("s", deltaOf(`o${n}`, n, [note(`m${n}`)], { metadata: { turn: n } }));
      };
      await Promise.all([
        turns(),
        ...keys.map((key) => append("s", deltaOf(key, undefined, [], { metadata: { [key]: key } }))),
      ]);
      const { messages, metadata, revision } = await loadFrom(store, "s");
      expectEqual(
        [messages.map(({ id }) => id), revision],
        [keys.slice(0, 10).map((key) => key.replace("k", "m")), 10],
        "turns",
      );
      expectEqual(metadata, { turn: 9, ...Object.fromEntries(keys.map((key) => [key, key])) }, "metadata");
    },
  },
  {
    id: "append-at-once",
    title: "one operation sent many times at once takes effect once, and all are told its revision",
    needs: "append",
    async check({ store }) {
      const append = appendTo(store);
      const delta = deltaOf("o", 0, [note("a")], { metadata: { k: 1 } });
      const answers = await Promise.all(Array.from({ length: WRITERS }, () => append("s", delta)));
      expectEqual(
        answers,
        answers.map(() => 1),
        "revisions",
      );
      expectEqual(await loadFrom(store, "s"), { messages: [note("a")], metadata: { k: 1 }, revision: 1 }, "load");
    },
  },
  {
    id: "load-moment",
    title: "a load during writes is of one moment: its messages, metadata, compaction and revision belong together",
    needs: "append",
    async check({ store }) {
      const append = appendTo(store);
      const states = Array.from({ length: 40 }, (_, n) => stateOf(n));
      let writing = true;
      const reader = async (): Promise<void> => {
        while (writing) expectWholeState(await loadFrom(store, "s"), states);
      };
      const writer = async (): Promise<void> => {
        try {
          for (const { revision, messages, metadata, compaction } of states.slice(1)) {
            const baseRevision = revision - 1;
            const save = revision % 4 === 0 ? { messages, metadata, compaction, revision: baseRevision } : undefined;
            if (save !== undefined) await store.save("s", save);
            else await append("s", deltaOf(`o${revision}`, baseRevision, messages.slice(-1), { metadata, compaction }));
          }
        } finally {
          writing = false;
        }
      };
      await Promise.all([writer(), reader(), reader(), reader()]);
      expectEqual(await loadFrom(store, "s"), states.at(-1), "load afterwards");
    },
  },
];

function writers(write: (id: string) => Promise<void>): Promise<void>[] {
  return Array.from({ length: WRITERS }, async (_, n) => {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      try {
        await write(`w${n}`);
        return;
      } catch (error) {
        if (!(error instanceof SessionError && error.kind === "conflict")) throw error;
      }
    }
    expectThat(false, "a writer meets conflicts without end");
  });
}

async function expectAllWriters(store: SessionStore): Promise<void> {
  const { messages } = await loadFrom(store, "s");
  const expected = Array.from({ length: WRITERS }, (_, n) => note(`w${n}`));
  const byId = new Map(messages.map((message) => [message.id, message]));
  expectEqual(messages.length, WRITERS, "messages of all writers");
  expectEqual(
    expected.map(({ id }) => byId.get(id)),
    expected,
    "messages of all writers",
  );
}

function stateOf(revision: number): Session & Required<Pick<Session, "compaction">> {
  const messages = Array.from({ length: revision }, (_, n) => note(`m${n + 1}`));
  const compaction = { upTo: `m${revision}`, messages: [note(`summary ${revision}`)] };
  return { messages, metadata: { n: revision }, revision, compaction };
}

function expectWholeState(session: Session, states: readonly Session[]): void {
  const { revision } = session;
  if (revision === 0) expectEqual(session, { messages: [], metadata: {}, revision }, "load before the first write");
  else expectEqual(session, states[revision], `load at revision ${revision}`);
}
