import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

/** What a runner said of one test; `message` of a failed one. */
interface Outcome {
  readonly title: string;
  readonly status: "passed" | "failed" | "skipped";
  readonly message: string;
}

interface Run {
  readonly code: number | null;
  readonly outcomes: readonly Outcome[];
  /** What a user sees. */
  readonly shown: string;
}

interface Claim {
  readonly id: string;
  readonly title: string;
  readonly needs?: string;
}

type Tables = Readonly<Record<"sessionStoreClaims" | "observerClaims", readonly Claim[]>>;

const runners: Readonly<Record<string, (project: string) => Run>> = {
  vitest: (project) =>
    reported(project, ["node_modules/vitest/vitest.mjs", "run", "--reporter=verbose", "--reporter=json"]),
  "jest-cjs": (project) => reported(project, ["node_modules/jest/bin/jest.js", "--json", "--verbose"]),
  "jest-esm": (project) =>
    reported(project, ["--experimental-vm-modules", "node_modules/jest/bin/jest.js", "--json", "--verbose"]),
  "node-test": (project) => tapped(project),
};

/**
 * In `place`, where the package is installed, runs the claims with each test runner on a sound store, a broken observer and a store
 * that is never made: what passes, what fails and what is skipped must be the same everywhere. Answers the names of the runners.
 */
export async function checkRunners(place: string): Promise<readonly string[]> {
  const tables = (await import(pathToFileURL(join(place, "node_modules/ennead/dist/testkit.js")).href)) as Tables;
  for (const name of ["vitest", "jest"]) {
    const installed = join(place, "node_modules", name);
    if (!existsSync(installed)) symlinkSync(resolve("node_modules", name), installed);
  }
  for (const [name, run] of Object.entries(runners)) {
    const project = join(place, name);
    cpSync(join("test/packed", name), project, { recursive: true });
    assertRun(name, run(project), tables);
  }
  assertCompiled(join(place, "vitest"));
  return Object.keys(runners);
}

/** The types of the matchers, as they are published: what each line of the file expects of the compiler comes true. */
function assertCompiled(project: string): void {
  const strict = ["--strict", "--exactOptionalPropertyTypes", "--noEmit", "--skipLibCheck", "--types", "node"];
  const form = ["--module", "NodeNext", "--target", "ES2022", "--lib", "ES2024,ESNext.Disposable"];
  const types = ["--typeRoots", resolve("node_modules/@types")];
  const { code, shown } = start(project, [
    "node_modules/typescript/bin/tsc",
    ...strict,
    ...form,
    ...types,
    "matchers.mts",
  ]);
  assert.equal(code, 0, `the types of the matchers\n${shown}`);
}

function assertRun(name: string, { code, outcomes, shown }: Run, tables: Tables): void {
  const { sessionStoreClaims: store, observerClaims: observer } = tables;
  const isSkipped = ({ needs }: Claim): boolean => needs === "damage" || needs === "reopen";
  const titles = (status: Outcome["status"]): readonly string[] =>
    outcomes.filter((outcome) => outcome.status === status).map(({ title }) => title);
  const titled = ({ id, title }: Claim): string => `${id}: ${title}`;
  const broken = observer.filter(({ id }) => id === "observer-returns-nothing");
  const sound = [...store.filter((claim) => !isSkipped(claim)), ...observer.filter((claim) => !broken.includes(claim))];
  const skips = store
    .filter(isSkipped)
    .map((claim) => `${titled(claim)} (skipped, no ${claim.needs}: nothing is kept outside this process)`);
  assert.ok(skips.length > 0 && broken.length === 1);
  assert.deepEqual(titles("passed").toSorted(), sound.map(titled).toSorted(), `${name}: what passes\n${shown}`);
  assert.deepEqual(titles("skipped").toSorted(), skips.toSorted(), `${name}: what is skipped`);
  const failed = [...broken, ...store.slice(0, 1)].map(titled);
  assert.deepEqual(titles("failed").toSorted(), failed.toSorted(), `${name}: what fails`);
  const messages = outcomes.map(({ message }) => message).join("\n");
  assert.match(messages, /onEvent returned something for turnStarted/, name);
  assert.match(messages, new RegExp(`make has not settled within 50 ms for ${store[0]?.id}`), name);
  for (const title of [...skips, ...failed]) assert.ok(shown.includes(title), `${name} shows ${title}\n${shown}`);
  assert.equal(code, 1, `${name} is red`);
}

function start(project: string, args: readonly string[]): { readonly code: number | null; readonly shown: string } {
  const files = args.map((arg) => (arg.startsWith("node_modules/") ? resolve(arg) : arg));
  const { status, stdout, stderr } = spawnSync(process.execPath, files, {
    cwd: project,
    encoding: "utf8",
    env: { ...process.env, NODE_OPTIONS: "", NO_COLOR: "1", FORCE_COLOR: "0" },
  });
  return { code: status, shown: `${stdout}\n${stderr}` };
}

/** vitest and jest write the same form of report. */
function reported(project: string, args: readonly string[]): Run {
  const run = start(project, [...args, "--outputFile=report.json"]);
  type Report = {
    testResults: { assertionResults: { title: string; status: string; failureMessages?: string[] }[] }[];
  };
  const report = JSON.parse(readFileSync(join(project, "report.json"), "utf8")) as Report;
  const outcomes = report.testResults.flatMap(({ assertionResults }) =>
    assertionResults.map(({ title, status, failureMessages = [] }): Outcome => {
      const skipped = status === "pending" || status === "skipped";
      return {
        title,
        status: skipped ? "skipped" : status === "passed" ? status : "failed",
        message: failureMessages.join("\n"),
      };
    }),
  );
  return { ...run, outcomes };
}

/** node:test has a stable report for machines; suites have no colon in their names here. */
function tapped(project: string): Run {
  const { code, shown } = start(project, ["--test", "--test-reporter=tap"]);
  writeFileSync(join(project, "report.tap"), shown);
  const outcomes = [...shown.matchAll(/^ *(not ok|ok) \d+ - (.*?)( # SKIP.*)?$/gm)]
    .filter(([, , title = ""]) => title.includes(": "))
    .map(([, verdict, title = "", skip]): Outcome => {
      const status = skip !== undefined ? "skipped" : verdict === "ok" ? "passed" : "failed";
      return { title, status, message: status === "failed" ? shown : "" };
    });
  return { code, shown, outcomes };
}
