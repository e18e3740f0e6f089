import { relative } from "node:path";
import { setImmediate } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import type * as testkit from "ennead/testkit";
import type { Claim, ClaimResult, Fixture } from "ennead/testkit";
import { failureOf } from "./check-failure.js";
import type { CheckMessage, CheckOrder, ClaimLine } from "./check-message.js";
import { type Checked, fixtureOf, subjectsOf } from "./check-subjects.js";

type Tell = (message: CheckMessage) => void;
type Testkit = Pick<typeof testkit, "checkClaims" | "runClaims">;

/** In a process of its own, which a foreign module may block, break or end: loads it, checks its exports, and tells how it goes. */
export async function checkModule(order: CheckOrder, tell: Tell): Promise<void> {
  const uncaught: unknown[] = [];
  process.on("uncaughtException", (error) => uncaught.push(error));
  try {
    const { checkClaims, claimTables, runClaims } = await import("ennead/testkit");
    const module = await loaded(order.file, uncaught);
    const subjects = subjectsOf(module, claimTables);
    for (const subject of subjects) refuseCapabilities(runClaims, subject);
    refuseUnknownClaims(subjects, order.only);
    tell({ type: "subjects", subjects: subjects.map(({ name, port }) => ({ name, port })) });
    for (const subject of subjects) await checkSubject(checkClaims, { subject, order, tell, uncaught });
    tell({ type: "done" });
  } catch (error) {
    tell({ type: "unusable", failure: failureOf(error, process.cwd()) });
  }
}

async function loaded(file: string, uncaught: readonly unknown[]): Promise<object> {
  let module: object;
  try {
    module = (await import(pathToFileURL(file).href)) as object;
  } catch (error) {
    throw new Error(`${relative(process.cwd(), file)} cannot be loaded`, { cause: error });
  }
  await setImmediate();
  if (uncaught.length > 0) throw new Error("the module fails behind its loading", { cause: uncaught[0] });
  return module;
}

type Run = {
  readonly subject: Checked;
  readonly order: CheckOrder;
  readonly tell: Tell;
  readonly uncaught: unknown[];
};

async function checkSubject(checkClaims: Testkit["checkClaims"], run: Run): Promise<void> {
  const { subject, order, tell } = run;
  const { name, capabilities } = subject;
  const make = makerOf(subject);
  for (const claim of chosen(subject, order.only)) {
    const { id, title } = claim;
    tell({ type: "begun", subject: name, id, title });
    const timed = { claims: [claim], make: make.fixture, capabilities, timeoutMs: order.timeoutMs };
    const { results } = await checkClaims(timed);
    // What the claim left behind may still fail, and is its doing.
    await setImmediate();
    const failure = resultFailure(results[0], run.uncaught.splice(0));
    // Where nothing could be made at all, no claim says anything about the adapter.
    if (failure !== undefined && !make.hasMade())
      throw new Error(`${name}: make gives nothing to check`, { cause: failure.error });
    tell({ type: "settled", line: lineOf(name, claim, results[0], failure) });
  }
}

function chosen({ table }: Checked, only: readonly string[]): readonly Claim<Fixture, string>[] {
  return only.length === 0 ? table.claims : table.claims.filter(({ id }) => only.includes(id));
}

function makerOf(subject: Checked): { readonly fixture: () => Promise<Fixture>; hasMade(): boolean } {
  let count = 0;
  return {
    async fixture() {
      const fixture = fixtureOf(subject, await subject.make());
      count += 1;
      return fixture;
    },
    hasMade: () => count > 0,
  };
}

type Thrown = { readonly error: unknown };

function resultFailure(result: ClaimResult | undefined, [stray]: readonly unknown[]): Thrown | undefined {
  if (result?.outcome === "failed") return result;
  return stray === undefined ? undefined : { error: new Error("an error that nobody caught", { cause: stray }) };
}

function lineOf(
  subject: string,
  { id, title }: Claim<Fixture, string>,
  result: ClaimResult | undefined,
  failure: Thrown | undefined,
): ClaimLine {
  const named = { subject, id, title };
  if (failure !== undefined) return { ...named, outcome: "failed", ...failureOf(failure.error, process.cwd()) };
  return result?.outcome === "skipped"
    ? { ...named, outcome: "skipped", reason: result.reason }
    : { ...named, outcome: "passed" };
}

/** Before anything is checked: a misspelt one of the last export must not cost the time of all others. */
function refuseCapabilities(runClaims: Testkit["runClaims"], { name, table, capabilities }: Checked): void {
  const nowhere = Object.assign(() => {}, { skip: () => {} });
  try {
    runClaims({ test: nowhere, claims: table.claims, make: () => ({}), capabilities });
  } catch (error) {
    throw new Error(`${name} cannot be checked`, { cause: error });
  }
}

function refuseUnknownClaims(subjects: readonly Checked[], only: readonly string[]): void {
  const ids = new Set(subjects.flatMap(({ table }) => table.claims.map(({ id }) => id)));
  const unknown = only.find((id) => !ids.has(id));
  if (unknown === undefined) return;
  throw new Error(`--only: no claim of ${subjects.map(({ name }) => name).join(", ")} has the id ${unknown}`);
}
