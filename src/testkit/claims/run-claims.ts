import { checkClaim, type ClaimRun, type Fixture, skipReason } from "./claim.js";

type Register = (title: string, check: () => Promise<void>) => unknown;

/** The `test` of vitest, jest, node:test or anything of that shape. */
export type TestFunction = Register & { readonly skip?: Register };

/** What became of one claim. */
export type ClaimResult = { readonly id: string; readonly title: string } & (
  | { readonly outcome: "passed" }
  | { readonly outcome: "failed"; readonly error: unknown }
  | { readonly outcome: "skipped"; readonly reason: string }
);

/** Results in the order of the table; `ok` when none failed. */
export type ClaimReport = { readonly ok: boolean; readonly results: readonly ClaimResult[] };

/**
 * Registers one test per claim, titled `id: title`. A skipped claim is registered through `test.skip`, its title ending
 * with the reason; where the runner has no skip it is printed and not registered, so that it never counts as passed.
 */
export function runClaims<F extends Fixture, C extends string>(
  run: ClaimRun<F, C> & { readonly test: TestFunction },
): void {
  const { test, claims, make, capabilities } = run;
  refuseRepeatedIds(claims);
  for (const claim of claims) {
    const title = `${claim.id}: ${claim.title}`;
    const reason = skipReason(claim, capabilities);
    if (reason === undefined) test(title, () => checkClaim(claim, make));
    else if (test.skip !== undefined) test.skip(`${title} (skipped, ${reason})`, () => Promise.resolve());
    else console.warn(`${title} (skipped, ${reason})`);
  }
}

/** Checks the claims one after the other without a runner; never rejects because of a claim. */
export async function checkClaims<F extends Fixture, C extends string>(run: ClaimRun<F, C>): Promise<ClaimReport> {
  refuseRepeatedIds(run.claims);
  const results: ClaimResult[] = [];
  for (const claim of run.claims) {
    const { id, title } = claim;
    const reason = skipReason(claim, run.capabilities);
    if (reason !== undefined) {
      results.push({ id, title, outcome: "skipped", reason });
      continue;
    }
    try {
      await checkClaim(claim, run.make);
      results.push({ id, title, outcome: "passed" });
    } catch (error) {
      results.push({ id, title, outcome: "failed", error });
    }
  }
  return { ok: results.every(({ outcome }) => outcome !== "failed"), results };
}

function refuseRepeatedIds(claims: readonly { readonly id: string }[]): void {
  const ids = new Set<string>();
  for (const { id } of claims) {
    if (ids.has(id)) throw new TypeError(`two claims have the id ${id}`);
    ids.add(id);
  }
}
