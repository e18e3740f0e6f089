import { thrownLabel } from "../../domain/describe-thrown.js";
import type { Awaitable } from "../../ports/awaitable.js";
import type { Claim, Fixture } from "./claim.js";
import { settlesWithin } from "./expect-settled.js";
import { ClaimFailure } from "./expectations.js";

/**
 * Checks one claim on a fixture of its own; rejects with what `check` threw. What does not settle in time fails the claim, and its
 * fixture is disposed of as soon as there is one. Where the disposal fails too, the rejection is an `AggregateError` of both, in order.
 */
export async function checkClaim<F extends Fixture, C extends string>(
  claim: Claim<F, C>,
  make: () => Awaitable<F>,
  timeoutMs: number,
): Promise<void> {
  const start = performance.now();
  const fixture = await madeFixture(claim.id, make, timeoutMs);
  const left = Math.max(1, timeoutMs - (performance.now() - start));
  const failure = await failureOf(() => inTime(claim.id, { within: left, of: timeoutMs }, () => claim.check(fixture)));
  const disposal = `the disposal of the fixture of ${claim.id}`;
  const remains = await failureOf(() => inTime(disposal, { within: timeoutMs, of: timeoutMs }, () => dispose(fixture)));
  if (failure !== undefined && remains !== undefined) {
    const text = `${thrownLabel(failure.error)}; then its fixture could not be disposed of: ${thrownLabel(remains.error)}`;
    throw new AggregateError([failure.error, remains.error], text);
  }
  const only = failure ?? remains;
  if (only !== undefined) throw only.error;
}

async function madeFixture<F extends Fixture>(id: string, make: () => Awaitable<F>, ms: number): Promise<F> {
  const making = (async () => make())();
  if (!(await settlesWithin(making, ms))) {
    // Whoever makes it too late must not leave it open.
    making.then(dispose).catch(() => undefined);
    throw new ClaimFailure(`make has not settled within ${ms} ms for ${id}`);
  }
  const fixture: unknown = await making;
  if (typeof fixture === "object" && fixture !== null) return fixture as F;
  throw new ClaimFailure(`make gives a fixture, an object; it gave ${thrownLabel(fixture)}`);
}

async function inTime(
  what: string,
  time: { readonly within: number; readonly of: number },
  run: () => Awaitable<void>,
): Promise<void> {
  const work = (async () => run())();
  if (!(await settlesWithin(work, time.within))) throw new ClaimFailure(`${what} has not settled within ${time.of} ms`);
  await work;
}

async function dispose(fixture: Fixture): Promise<void> {
  await fixture[Symbol.asyncDispose]?.();
}

async function failureOf(run: () => Promise<void>): Promise<{ readonly error: unknown } | undefined> {
  try {
    await run();
    return undefined;
  } catch (error) {
    return { error };
  }
}
