import { build } from "esbuild";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { observerClaims } from "../../../src/testkit/claims/observer.js";
import { sessionStoreClaims } from "../../../src/testkit/claims/session-store-claims.js";
import { BundledCli, type RunningCli } from "../../support/bundled-cli.js";

let cli: BundledCli;

beforeAll(async () => {
  cli = await BundledCli.make();
  await build({
    entryPoints: ["src/adapters/sessions/memory.ts"],
    outfile: join(cli.place, "memory.mjs"),
    bundle: true,
    format: "esm",
    logLevel: "warning",
  });
});

afterAll(() => cli.remove());

type Run = { readonly code: number | null; readonly shown: string; readonly output: string };

let count = 0;

/** Checks a module with this text, in a process as a user starts it. */
async function check(text: string, flags: readonly string[] = [], extension = ".mjs"): Promise<Run> {
  const name = `module-${count++}${extension}`;
  writeFileSync(join(cli.place, name), text);
  return checkFile(name, flags);
}

async function checkFile(name: string, flags: readonly string[] = []): Promise<Run> {
  const run = cli.start(["check", name, ...flags]);
  return { code: await run.finish(), shown: run.screen.shown, output: run.output };
}

const total = observerClaims.length;
const SILENT = "make: () => ({ observer: { onEvent() {} } })";
const missing = 'damage: { missing: "nothing is kept" }, reopen: { missing: "nothing is kept" }';
const memory = 'import { MemorySessionStore } from "./memory.mjs";';

describe.concurrent("ennead check as a process", () => {
  it("checks every claim of an adapter, says why some are skipped, and ends with 0", async () => {
    const { code, shown } = await check(
      `${memory} export const sessionStore = { make: () => new MemorySessionStore(), capabilities: { ${missing} } };`,
    );
    expect(shown).toContain("sessionStore\n");
    for (const { id, title, needs } of sessionStoreClaims) {
      const reason = ` (no ${needs}: nothing is kept)`;
      const skipped = needs === "damage" || needs === "reopen";
      expect(shown).toContain(`  ${skipped ? "skipped" : "passed "}  ${id}: ${title}${skipped ? reason : ""}\n`);
    }
    expect(shown).toMatch(/\n\d+ claims: \d+ passed, 0 failed, [1-9]\d* skipped\n$/);
    expect(code).toBe(0);
  });

  it("names the claim that fails, what was thrown and where, and ends with 1", async () => {
    const { code, shown } = await check(`
      class Stubborn {
        save() { throw new RangeError("full \\u001b[31m", { cause: new Error("disk") }); }
        onEvent(event) { if (event.type === "turnStarted") this.save(); }
        async [Symbol.asyncDispose]() { throw new RangeError("still open"); }
      }
      export const observer = { make: () => ({ observer: new Stubborn(), [Symbol.asyncDispose]: () => new Stubborn()[Symbol.asyncDispose]() }) };`);
    expect(shown).toContain("FAILED   observer-takes-every-event: onEvent throws at no event of any type\n");
    expect(shown).toContain("onEvent threw at turnStarted; then its fixture could not be disposed of: still open\n");
    expect(shown).toContain(`${total} claims: 0 passed, ${total} failed, 0 skipped\n`);
    expect(code).toBe(1);
  });

  it("takes several exports, with a port under any name, from TypeScript and from CommonJS", async () => {
    const several = `export const first: { port: string; make: () => object } = { port: "observer", ${SILENT} };
      export const other = 1;
      export default { port: "pipeline-hook", make: () => ({ hook: { onStage() {} } }),
        capabilities: { acts: { missing: "it does nothing" }, defers: { missing: "it does nothing" }, abort: { missing: "it never waits" } } };`;
    const typed = await check(several, [], ".ts");
    expect(typed.shown).toMatch(/default \(pipelineHook\)\n[^]*first \(observer\)\n/);
    expect(typed.code).toBe(0);
    const common = await check(`const key = "observer"; module.exports = { [key]: { ${SILENT} } };`, [], ".cjs");
    expect(common).toMatchObject({ code: 0, shown: expect.stringContaining(`${total} claims: ${total} passed`) });
  });

  it("checks an export once that is the default as well", async () => {
    const { code, shown } = await check(`export const observer = { ${SILENT} }; export default observer;`);
    expect(shown).toContain(`${total} claims: ${total} passed`);
    expect(code).toBe(0);
  });

  it("takes a compiled CommonJS module with its default in the default", async () => {
    const compiled = (exported: string): string =>
      `Object.defineProperty(exports, "__esModule", { value: true }); exports.${exported};`;
    const whole = await check(compiled(`default = { port: "observer", ${SILENT} }`), [], ".cjs");
    expect(whole.shown).toContain("default (observer)\n");
    expect(whole.code).toBe(0);
    const named = await check(compiled(`observer = { ${SILENT} }`), [], ".cjs");
    expect(named).toMatchObject({ code: 0, shown: expect.stringMatching(/^observer\n/) });
  });

  it("takes a file: URL, and any name a file may have", async () => {
    const name = "sp ace %2e é#?.mjs";
    writeFileSync(join(cli.place, name), `export const observer = { ${SILENT} };`);
    const { href } = pathToFileURL(join(cli.place, name));
    for (const module of [name, href]) expect(await checkFile(module)).toMatchObject({ code: 0 });
  });

  it.each([
    ["is interrupted", "for (;;);", (run: RunningCli): void => run.interrupt(), 130],
    [
      "has no reader any more",
      // Only when nobody reads is there more to report.
      "return signalled;",
      (run: RunningCli, pid: number): void => {
        run.stopReading();
        process.kill(pid, "SIGUSR2");
      },
      2,
    ],
  ])("takes the process of the module along when it %s, and does not end with 0", async (_, goesOn, end, expected) => {
    writeFileSync(
      join(cli.place, `waits-${expected}.mjs`),
      `const signalled = new Promise((done) => process.once("SIGUSR2", () => done({ onEvent() {} })));
       export const observer = { make() { console.error("pid", process.pid, "waits"); ${goesOn} } };`,
    );
    const run = cli.start(["check", `waits-${expected}.mjs`]);
    await run.screen.see("waits");
    const pid = Number(/pid (\d+) waits/.exec(run.screen.shown)?.[1]);
    end(run, pid);
    expect(await run.ended).toBe(expected);
    await vi.waitFor(() => expect(() => process.kill(pid, 0)).toThrow("ESRCH"), { timeout: 60_000 });
  });

  it("checks only the claims that are named, and refuses one that nobody has", async () => {
    const module = `export const observer = { ${SILENT} };`;
    const two = await check(module, ["--only", "observer-takes-every-event", "--only", "observer-returns-nothing"]);
    expect(two).toMatchObject({ code: 0, shown: expect.stringContaining("2 claims: 2 passed") });
    const none = await check(module, ["--only", "observer-flies"]);
    expect(none).toMatchObject({ code: 2, shown: expect.stringContaining("has the id observer-flies") });
  });

  it("prints one JSON document in ASCII with --json, and what the module prints elsewhere", async () => {
    const { code, output, shown } = await check(
      `console.log("noise \\u001b[2Jon stdout"); console.error("noise on stderr");
       export const observer = { make: () => ({ observer: { onEvent() {} },
         [Symbol.asyncDispose]: () => Promise.reject(new Error("\\u009b31m \\u202e é")) }) };`,
      ["--json", "--only", "observer-takes-every-event"],
    );
    expect(JSON.parse(output)).toEqual({
      ok: false,
      module: expect.stringMatching(/\.mjs$/),
      claims: [
        {
          subject: "observer",
          id: "observer-takes-every-event",
          title: "onEvent throws at no event of any type",
          outcome: "failed",
          message: "\u009b31m \u202e é",
          place: expect.stringMatching(/^module-\d+\.mjs:\d+:\d+$/),
        },
      ],
    });
    expect(output).toMatch(/^[\n -~]*$/);
    expect(shown).toContain("noise on stdout");
    expect(shown).toContain("noise on stderr");
    expect(code).toBe(1);
  });

  it("prints its whole report, however slowly it is read", async () => {
    // What it waits for others at the end, a second, is over at once.
    const hasty = `const after = setTimeout; globalThis.setTimeout = (fn, ms) => after(fn, ms === 1_000 ? 0 : ms);`;
    writeFileSync(join(cli.place, "hasty.mjs"), hasty);
    const names = Array.from({ length: 60 }, (_, n) => `observer${n}${"x".repeat(3_000)}`);
    const text = names.map((name) => `export const ${name} = { port: "observer", ${SILENT} };`).join("\n");
    writeFileSync(join(cli.place, "large.mjs"), text);
    const options = { NODE_OPTIONS: `--import ${pathToFileURL(join(cli.place, "hasty.mjs")).href}` };
    const run = cli.start(["check", "large.mjs", "--json"], options);
    expect(await run.finish()).toBe(0);
    const { claims } = JSON.parse(run.output) as { readonly claims: readonly unknown[] };
    expect(claims).toHaveLength(total * names.length);
  });

  it("shows nothing of a module that a terminal would obey", async () => {
    const { shown } = await check(
      `process.stdout.write("\\u001b]0;owned\\u0007");
       export const lifecycle = { make: () => ({ onShutdown: async () => { throw new Error("a\\u001b[2J\\u202eb"); } }),
         capabilities: { start: { missing: "\\u001b[31mred\\u0007" }, resources: { missing: "none" } } };`,
    );
    expect(shown).toContain("red");
    expect(shown).toMatch(/^[\n -~\u00a0-\u2027]*$/u);
  });

  const hang = "await new Promise((resolve) => setTimeout(resolve, 1e9));";
  it.each([
    [
      "throws when it is loaded",
      'throw new TypeError("no luck");',
      [],
      /cannot be loaded\ncaused by: TypeError: no luck\n  at module-\d+\.mjs:1:7\n/,
    ],
    ["is no JavaScript", "export const = 1;", [], /module-\d+\.mjs cannot be loaded\ncaused by: SyntaxError: /],
    ["imports what is not there", 'import "./nowhere.mjs";', [], /Cannot find module/],
    ["exports nothing", "", [], /the module exports nothing to check: it exports nothing; wanted is/],
    ["exports something else", "export const sesionStore = 1;", [], /it exports sesionStore; wanted is .*sessionStore/],
    [
      "names a port there is not",
      `export const a = { port: "obsever", ${SILENT} };`,
      [],
      /a has the port obsever, which is/,
    ],
    [
      "misspells a field",
      `export const observer = { ${SILENT}, capabilites: {} };`,
      [],
      /observer has no option capabilites/,
    ],
    [
      "exports an adapter",
      "export const observer = { onEvent() {} };",
      [],
      /observer is an adapter; wanted is \{ make \}, a function that gives a new one for each claim/,
    ],
    ["has no make", "export const observer = { capabilities: {} };", [], /observer.make is a function/],
    [
      "misspells a capability",
      `export const observer = { ${SILENT}, capabilities: { flys: { missing: "x" } } };`,
      [],
      /observer cannot be checked\ncaused by: TypeError: no claim needs the capability flys/,
    ],
    [
      "gives no reason",
      `export const lifecycle = { make: () => ({}), capabilities: { start: false } };`,
      [],
      /start is neither true nor/,
    ],
    [
      "makes nothing",
      "export const observer = () => undefined;",
      [],
      /observer.make gave nothing, neither an adapter nor/,
    ],
    [
      "makes something else",
      "export const observer = () => ({ store: {} });",
      [],
      /make gave neither an adapter with onEvent nor a fixture/,
    ],
    [
      "cannot make anything",
      'export const observer = () => { throw new Error("no server"); };',
      [],
      /make gives nothing to check\ncaused by: no server\n  at module/,
    ],
    [
      "never makes it",
      "export const observer = () => new Promise(() => {});",
      ["--timeout", "50"],
      /make has not settled within 50 ms/,
    ],
    ["awaits for ever", "await new Promise(() => {});", [], /awaits at its top level what never settles/],
    ["never finishes loading", hang, ["--timeout", "1"], /the module was not loaded within 10002 ms/],
    ["ends the process", "process.exit(0);", [], /ended its process while it was loaded \(exit code 0\)/],
    ["fails behind its loading", 'Promise.reject(new Error("late"));', [], /fails behind its loading\ncaused by: late/],
    [
      "exports what throws when it is read",
      'export const observer = { get make() { throw new Error("hidden"); } };',
      [],
      /hidden/,
    ],
  ])("says so and ends with 2 for a module that %s", async (_, text, flags, expected) => {
    const { code, shown } = await check(text, flags);
    expect(shown).toMatch(expected);
    expect(code).toBe(2);
  });

  it.each([
    [
      "hangs",
      "onShutdown: () => new Promise(() => {})",
      /lifecycle-shuts-down: .*\n +lifecycle-shuts-down has not settled within 60 ms\n/,
    ],
    [
      "blocks",
      "async onShutdown() { for (;;); }",
      /FAILED   lifecycle-is-named.*\n.*kept its process busy for 10120 ms/,
    ],
    [
      "ends the process",
      "async onShutdown() { process.exit(0); }",
      /FAILED   lifecycle-is-named.*\n.*it ended its process \(exit code 0\)/,
    ],
    [
      "kills the process",
      'async onShutdown() { process.kill(process.pid, "SIGKILL"); }',
      /it ended its process \(SIGKILL\)/,
    ],
    [
      "throws where nobody catches",
      'async onShutdown() { queueMicrotask(() => { throw new Error("stray"); }); }',
      /an error that nobody caught\n +caused by: stray\n +at module/,
    ],
    [
      "lies on the channel",
      'async onShutdown() { process.send({ type: "done" }); process.disconnect(); }',
      /ended its process \(exit code 1\)/,
    ],
  ])("fails the claim that runs and ends with 1 for an adapter that %s", async (_, member, expected) => {
    const capabilities = ["start", "resources", "start-failure", "shutdown-failure"].map(
      (name) => `"${name}": { missing: "-" }`,
    );
    const { code, shown } = await check(
      `export const lifecycle = { make: () => ({ ${member} }), capabilities: { ${capabilities.join()} } };`,
      ["--timeout", "60"],
    );
    expect(shown).toMatch(expected);
    expect(code).toBe(1);
  });

  it("takes no message that the module sends for a result", async () => {
    const line = { subject: "observer", id: "forged", title: "it is fine", outcome: "passed" };
    const forged = JSON.stringify({ token: "", message: { type: "settled", line } });
    const { code, shown } = await check(`process.send(${forged}); export const observer = { ${SILENT} };`, [
      "--only",
      "observer-takes-every-event",
    ]);
    expect(shown).not.toContain("forged");
    expect(code).toBe(0);
  });

  it("ends although the module keeps handles open and prints for ever", async () => {
    const { code, shown } = await check(
      `import { createServer } from "node:http"; createServer().listen(0); setInterval(() => console.log("x".repeat(1e5)), 1);
       export const observer = { ${SILENT} };`,
    );
    expect(shown).toContain(`${total} claims: ${total} passed`);
    expect(shown.length).toBeLessThan(80_000);
    expect(code).toBe(0);
  });

  it.each([
    [["check"], "name the module to check: ennead check FILE"],
    [["check", "a.mjs", "b.mjs"], '"b.mjs" is too much'],
    [["check", "a.mjs", "--timeout", "soon"], "--timeout is a whole number of milliseconds above 0"],
    [["check", "a.mjs", "--timeout", "0"], "--timeout is a whole number"],
    [["check", "a.mjs", "--model", "m"], "--model is no flag of check"],
    [["chat", "--json"], "--json is no flag of chat"],
    [["check", "nowhere.mjs"], "no file "],
    [["check", "dist"], "no file dist; a module is named by its path"],
    [["check", "ennead"], "no file ennead"],
    [["check", "file://elsewhere/a.mjs"], "no file file://elsewhere"],
    [["check-child", "{}"], 'there is no command "check-child"'],
  ])("ends with 2 and a reason for %j", async (args, reason) => {
    const run = cli.start(args);
    expect(await run.finish()).toBe(2);
    expect(run.screen.shown).toContain(reason);
  });

  it("tells of itself in the help", async () => {
    const run = cli.start(["--help"]);
    await run.finish();
    for (const flag of ["ennead check FILE", "--only", "--timeout", "--json"]) expect(run.screen.shown).toContain(flag);
  });
});
