import { describe, expect, test } from "vitest";
import type { Awaitable } from "../../src/ports/awaitable.js";
import { checkClaims, type Claim, type Fixture } from "../../src/testkit/claims/index.js";

/** What shows that no claim of a table is hollow. */
export type Proof<F extends Fixture, C extends string> = {
  readonly claims: readonly Claim<F, C>[];
  /** Keeps every claim; the broken ones are made of it. */
  readonly sound: () => Awaitable<NoInfer<F>>;
  /** By the id of a claim, what breaks that claim and no other. */
  readonly broken: Readonly<Record<string, () => Awaitable<NoInfer<F>>>>;
  /** By the id of a claim, others that nothing can keep that breaks it. */
  readonly entailed?: Readonly<Record<string, readonly string[]>> | undefined;
};

/** Registers what shows that the table named `table` fails where it should, and nowhere else. One call a table; `every-claim-is-proved.test.ts` looks for it. */
export function proveClaims<F extends Fixture, C extends string>(table: string, proof: Proof<F, C>): void {
  const { claims, sound, broken, entailed = {} } = proof;
  const ids = claims.map(({ id }) => id);
  describe(table, () => {
    test("holds for the sound adapter behind the broken ones, and skips nothing", async () => {
      const { results } = await checkClaims({ claims, make: sound });
      expect(results.filter(({ outcome }) => outcome !== "passed")).toEqual([]);
    });

    test("has a broken adapter for every claim, and none for anything else", () => {
      expect(Object.keys(broken).sort()).toEqual([...ids].sort());
    });

    test.each(ids)("fails at %s for the adapter that breaks it, and nowhere else", async (id) => {
      const make = broken[id];
      if (make === undefined) throw new Error(`nothing breaks ${id}`);
      const { results } = await checkClaims({ claims, make });
      const failed = results.filter(({ outcome }) => outcome === "failed").map((result) => result.id);
      expect(failed.sort()).toEqual([id, ...(entailed[id] ?? [])].sort());
    });
  });
}
