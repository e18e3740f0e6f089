import { SessionError } from "../../domain/errors.js";
import type { Json } from "../../domain/json.js";
import type { AgentMessage } from "../../domain/message.js";
import type { SessionDelta } from "../../domain/session.js";
import { expectEqual, expectRejection, expectThat } from "./expectations.js";
import { loadFrom, type SessionStoreClaim } from "./session-fixture.js";
import { deltaOf, note } from "./session-samples.js";

/** What is refused has had no effect, and the error says so without telling what was to be stored. */
export const sessionRefusalClaims: readonly SessionStoreClaim[] = [
  {
    id: "refused-bodies",
    title: "what JSON cannot hold is a SessionError and has no effect",
    async check({ store }) {
      const cyclic: Record<string, unknown> = { role: "user", id: "m", at: 1, content: [] };
      cyclic["self"] = cyclic;
      for (const bad of [cyclic, { ...note("m"), at: Number.NaN }, { ...note("m"), big: 1n }]) {
        const messages = [note("ok"), bad as AgentMessage];
        const save = (): unknown => store.save("s", { messages, metadata: {}, revision: 0 });
        await expectRejection(save, SessionError, ["save"], "save");
        if (store.append === undefined) continue;
        await expectRejection(() => store.append?.("s", deltaOf("o", 0, messages)), SessionError, ["save"], "append");
      }
      expectEqual(await loadFrom(store, "s"), { messages: [], metadata: {}, revision: 0 }, "load");
    },
  },
  {
    id: "refused-parts",
    title:
      "metadata, a compaction or a root field that JSON cannot hold is a SessionError, and nothing beside it is stored",
    async check({ store }) {
      const bad = Number.NaN as Json;
      const messages = [note("a")];
      const compaction = { upTo: "a", messages: [{ ...note("summary"), at: bad as number }] };
      const sessions = [{ metadata: { bad } }, { metadata: {}, compaction }, { metadata: {}, later: { bad } }];
      for (const parts of sessions) {
        const save = (): unknown => store.save("s", { messages, revision: 0, ...parts });
        await expectRejection(save, SessionError, ["save"], "save");
      }
      expectEqual(await loadFrom(store, "s"), { messages: [], metadata: {}, revision: 0 }, "load");
      const deltas: Partial<SessionDelta>[] = [{ metadata: { good: 1, bad } }, { metadata: { good: 1 }, compaction }];
      for (const parts of deltas) {
        if (store.append === undefined) return;
        const append = (): unknown => store.append?.("s", deltaOf("o", 0, messages, parts));
        await expectRejection(append, SessionError, ["save"], "append");
      }
      expectEqual(await loadFrom(store, "s"), { messages: [], metadata: {}, revision: 0 }, "load");
      expectEqual(
        await store.append?.("s", deltaOf("o", 0, messages)),
        store.append && 1,
        "the operation id afterwards",
      );
    },
  },
  {
    id: "error-text",
    title: "an error is one short line that holds nothing of what was stored or to be stored",
    async check({ store }) {
      const id = `s\n\u0007${"long".repeat(300)}`;
      const secret = "hunter2";
      const messages: AgentMessage[] = [note("m", secret)];
      const session = { messages, metadata: { key: secret }, revision: 0 };
      await store.save(id, session);
      const attempts = [
        () => store.save(id, session),
        () => store.save(id, { ...session, messages: [...messages, { ...note("n", secret), at: Number.NaN }] }),
        () => store.append?.(id, deltaOf("o", 0, messages, { metadata: { key: secret } })),
      ];
      for (const attempt of attempts.slice(0, store.append === undefined ? 2 : undefined)) {
        const error = await expectRejection(attempt, SessionError, [], "a refused write");
        for (const text of textsOf(error)) {
          expectThat(!text.includes(secret), "an error quotes what was to be stored");
          expectThat(!/\p{Cc}/u.test(text) && text.length <= 500, "an error is no short line");
        }
      }
    },
  },
];

/** The texts of an error and of its causes. */
function textsOf(error: unknown): string[] {
  if (!(error instanceof Error)) return error === undefined ? [] : [JSON.stringify(error)];
  return [error.message, JSON.stringify(error), ...textsOf(error.cause)];
}
