import { expectThat } from "./expectations.js";

/** A process that stands still for a while, as on a busy machine, loses one of these, and what waits to be read is read before the next. */
const SLICES = 10;

/** Whether `work` has settled in time, in one way or the other; no timer is left when it has. */
export async function settlesWithin(work: Promise<unknown>, ms: number): Promise<boolean> {
  const settled = work.then(
    () => true,
    () => true,
  );
  for (let slice = 0; slice < SLICES; slice++) if (await settlesBefore(settled, ms / SLICES)) return true;
  return false;
}

async function settlesBefore(settled: Promise<boolean>, ms: number): Promise<boolean> {
  const late = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => late.resolve(false), ms);
  const inTime = await Promise.race([settled, late.promise]);
  clearTimeout(timer);
  return inTime;
}

/** Fails the claim when `work` has not settled in time; how it settled does not matter. */
export async function expectSettled(work: Promise<unknown>, ms: number, what: string): Promise<void> {
  expectThat(await settlesWithin(work, ms), `${what} within ${ms} ms`);
}
