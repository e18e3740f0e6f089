import type { Awaitable } from "../../ports/awaitable.js";

/**
 * One sentence every adapter of a port must make true, as data. `check` throws when it does not hold. `needs` names what a
 * fixture must be able to do for the claim to mean something; a claim whose need is declared missing is skipped, aloud.
 */
export type Claim<F, C extends string = never> = {
  /** Stable; reports and broken adapters refer to it. */
  readonly id: string;
  /** A claim in the present tense. */
  readonly title: string;
  readonly needs?: C;
  check(fixture: F): Awaitable<void>;
};

/** What an adapter under test says it cannot do, with the reason. What is not named here is expected to work. */
export type Capabilities<C extends string> = { readonly [K in C]?: true | { readonly missing: string } };

/** What one claim is checked against: made afresh for each claim, disposed of after it whatever happened. */
export type Fixture = { [Symbol.asyncDispose]?(): PromiseLike<void> };

/** A table of claims and how to make what they are checked against. */
export type ClaimRun<F extends Fixture, C extends string> = {
  readonly claims: readonly Claim<F, C>[];
  readonly make: () => Awaitable<NoInfer<F>>;
  /** A name that no claim of the table needs is refused with a `TypeError`. */
  readonly capabilities?: Capabilities<NoInfer<C>>;
  /** How long making a fixture and checking a claim on it may take together, and how long its disposal; default 30000. */
  readonly timeoutMs?: number | undefined;
};

/** The reason a claim is skipped, undefined when it is to be checked. */
export function skipReason<F, C extends string>(
  claim: Claim<F, C>,
  capabilities: Capabilities<C> | undefined,
): string | undefined {
  if (claim.needs === undefined) return undefined;
  const declared = capabilities?.[claim.needs];
  return declared === undefined || declared === true ? undefined : `no ${claim.needs}: ${declared.missing}`;
}
