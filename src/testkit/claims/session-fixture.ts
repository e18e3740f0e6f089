import type { LoadedSession, Revision, SessionDelta, SessionInfo, SessionQuery } from "../../domain/session.js";
import type { Awaitable } from "../../ports/awaitable.js";
import type { SessionStore } from "../../ports/session-store.js";
import { type Claim, type Fixture } from "./claim.js";
import { expectThat } from "./expectations.js";

/**
 * What a store may lack. Optional methods of the port are capabilities, and so is comparing revisions (`compare`): one that cannot answers a write with
 * the revision it was given plus one. `damage` and `reopen` are offered by the fixture.
 */
export type SessionStoreCapability = "append" | "list" | "delete" | "compare" | "damage" | "reopen";

/** An empty store that nobody else uses. */
export type SessionStoreFixture = Fixture & {
  readonly store: SessionStore;
  /** Makes what is kept of a message of this session unreadable, behind the store's back. */
  damage?(id: string): Awaitable<void>;
  /** Another store on the same data, which the fixture disposes of. */
  reopen?(): Awaitable<SessionStore>;
};

/** A claim of `sessionStoreClaims`. */
export type SessionStoreClaim = Claim<SessionStoreFixture, SessionStoreCapability>;

/** The optional method, bound; a store that lacks it without saying so fails the claim. */
export function appendTo(store: SessionStore): (id: string, delta: SessionDelta) => Promise<Revision> {
  const { append } = store;
  expectThat(append !== undefined, "the store has no append and does not declare it missing");
  return (id, delta) => append.call(store, id, delta);
}

/** What a store answers to `load`; the index 0 of its first message says no more than none. */
export async function loadFrom(store: SessionStore, id: string, known?: Revision): Promise<LoadedSession> {
  const { from, ...session } = await store.load(id, known);
  return from === undefined || from === 0 ? session : { ...session, from };
}

/** Like `appendTo`, for `list`. */
export function listOf(store: SessionStore): NonNullable<SessionStore["list"]> {
  const { list } = store;
  expectThat(list !== undefined, "the store has no list and does not declare it missing");
  return (query) => list.call(store, query);
}

/** All pages of a list as one; fails where they do not end or are too long. */
export async function listAll(store: SessionStore, query: SessionQuery): Promise<SessionInfo[]> {
  const list = listOf(store);
  const items: SessionInfo[] = [];
  for (let cursor: string | undefined; ; ) {
    const page = await list({ ...query, cursor });
    expectThat(page.items.length <= (query.limit ?? Number.POSITIVE_INFINITY), "a page is longer than its limit");
    items.push(...page.items);
    if (page.cursor === undefined) return items;
    expectThat(page.items.length > 0 && items.length < 1_000, "the pages of a list do not end");
    cursor = page.cursor;
  }
}
