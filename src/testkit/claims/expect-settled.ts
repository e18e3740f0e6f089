import { expectThat } from "./expectations.js";

/** Whether `work` has settled in time, in one way or the other; the timer is gone when it has. */
export async function settlesWithin(work: Promise<unknown>, ms: number): Promise<boolean> {
  const late = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => late.resolve(false), ms);
  const settled = work.then(
    () => true,
    () => true,
  );
  const inTime = await Promise.race([settled, late.promise]);
  clearTimeout(timer);
  return inTime;
}

/** Fails the claim when `work` has not settled in time; how it settled does not matter. */
export async function expectSettled(work: Promise<unknown>, ms: number, what: string): Promise<void> {
  expectThat(await settlesWithin(work, ms), `${what} within ${ms} ms`);
}
