import { checkClaim } from "./check-claim.js";
import { checkedTimeout } from "./checked-run.js";
import { type ClaimRun, type Fixture, skipReason } from "./claim.js";

type Register = (title: string, check: () => Promise<void>, timeoutMs: number) => unknown;

/** The `test` of vitest, jest, node:test or anything of that shape. A runner with a limit of its own takes it as third argument. */
export type TestFunction = Register & { readonly skip?: Register };

const RUNNER_GRACE_MS = 1_000;

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
 * Throws a `TypeError` for a run that cannot mean what it says: no claims, a capability that none of them needs.
 */
export function runClaims<F extends Fixture, C extends string>(
  run: ClaimRun<F, C> & { readonly test: TestFunction },
): void {
  const { test, claims, make, capabilities } = run;
  const timeoutMs = checkedTimeout(run);
  for (const claim of claims) {
    const title = `${claim.id}: ${claim.title}`;
    const reason = skipReason(claim, capabilities);
    // The claim gives up before its runner would, who could not say what it waited for.
    const limit = 2 * timeoutMs + RUNNER_GRACE_MS;
    if (reason === undefined) test(title, () => checkClaim(claim, make, timeoutMs), limit);
    else if (test.skip !== undefined) test.skip(`${title} (skipped, ${reason})`, () => Promise.resolve(), limit);
    else console.warn(`${title} (skipped, ${reason})`);
  }
}

/** Checks the claims one after the other without a runner; never rejects because of a claim, only for what `runClaims` throws at. */
export async function checkClaims<F extends Fixture, C extends string>(run: ClaimRun<F, C>): Promise<ClaimReport> {
  const timeoutMs = checkedTimeout(run);
  const results: ClaimResult[] = [];
  for (const claim of run.claims) {
    const { id, title } = claim;
    const reason = skipReason(claim, run.capabilities);
    if (reason !== undefined) {
      results.push({ id, title, outcome: "skipped", reason });
      continue;
    }
    try {
      await checkClaim(claim, run.make, timeoutMs);
      results.push({ id, title, outcome: "passed" });
    } catch (error) {
      results.push({ id, title, outcome: "failed", error });
    }
  }
  return { ok: results.every(({ outcome }) => outcome !== "failed"), results };
}
