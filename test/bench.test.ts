import { execFile } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { build } from "esbuild";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { entries } from "../scripts/entries.js";

/** A copy of the package made of the sources as they are, so that the test needs no build. */
const place = mkdtempSync(join(tmpdir(), "ennead-bench-"));

beforeAll(async () => {
  await build({
    entryPoints: Object.fromEntries(entries.map(({ out, source }) => [out, source])),
    outdir: join(place, "dist"),
    bundle: true,
    splitting: true,
    packages: "external",
    platform: "node",
    format: "esm",
    target: "node22",
    logLevel: "warning",
    tsconfigRaw: { compilerOptions: { experimentalDecorators: true } },
  });
  for (const part of ["package.json", "tsconfig.json", "src", "bench"]) {
    cpSync(part, join(place, part), { recursive: true });
  }
  symlinkSync(resolve("node_modules"), join(place, "node_modules"), "dir");
});

afterAll(() => rmSync(place, { recursive: true, force: true }));

type Ended = { readonly code: number; readonly output: string };

function bench(...args: readonly string[]): Promise<Ended> {
  return new Promise((done) => {
    execFile(process.execPath, [join(place, "bench/run.mjs"), "--quick", ...args], (error, stdout, stderr) => {
      done({ code: error === null ? 0 : Number(error.code), output: stdout + stderr });
    });
  });
}

/** A folder with one case, the turn without tools; `variants` exports `bare` and `ennead`, made of the right ones in `turn`. */
function caseFolder(name: string, variants: string): string {
  const folder = join(place, name);
  mkdirSync(folder);
  const source = JSON.stringify(join(place, "bench/cases/turn.mjs"));
  const lines = [`import * as turn from ${source};`, "export const { replies, plan } = turn;", variants];
  writeFileSync(join(folder, "turn.mjs"), lines.join("\n"));
  return folder;
}

type Digest = {
  counts: { chunks: number; messages: number };
  requests: number;
  textLength: number;
  failures: number;
  stored: { messages: number; hash: string };
};
type Written = {
  readonly figures: readonly {
    readonly id: string;
    readonly title: string;
    readonly value: number;
    readonly target?: number;
  }[];
  readonly runs: {
    readonly turn: {
      readonly plan: object;
      readonly bare: [{ digest: Digest }];
      readonly ennead: [{ digest: Digest }];
    };
  };
};

describe("the benchmark", () => {
  let written: Written;

  test("prints and writes a figure for each case it ran", async () => {
    const json = join(place, "figures.json");
    const { code, output } = await bench("--only", "turn", "--only", "tools", "--only", "bundle", "--json", json);
    expect(code, output).toBe(0);
    written = JSON.parse(readFileSync(json, "utf8")) as Written;
    expect(written.figures.map(({ id }) => id)).toEqual([
      "turn.ratio",
      "tools.ratio",
      "bundle.gzip",
      "bundle.published",
    ]);
    for (const { title, value } of written.figures) {
      expect(output).toContain(title);
      expect(value).toBeGreaterThan(0);
    }
  });

  test("measures the cold start of every model entry, each against its target", async () => {
    const { code, output } = await bench("--only", "cold-start", "--json", join(place, "cold.json"));
    expect(code, output).toBe(0);
    const { figures } = JSON.parse(readFileSync(join(place, "cold.json"), "utf8")) as Written;
    const models = entries.filter(({ out }) => out.startsWith("models-")).map(({ out }) => `cold-start.${out}`);
    expect(figures.map(({ id }) => id).sort()).toEqual(["cold-start.cpu", ...models].sort());
    for (const { id, target } of figures) expect(target, id).toBe(id === "cold-start.cpu" ? 40 : 20);
  });

  test("measures every session store there is, and tells which were left out", async () => {
    const { code, output } = await bench("--only", "sessions", "--json", join(place, "sessions.json"));
    expect(code, output).toBe(0);
    const { figures } = JSON.parse(readFileSync(join(place, "sessions.json"), "utf8")) as Written;
    const kinds = entries
      .filter(({ out }) => out.startsWith("sessions-"))
      .map(({ out }) => out.slice("sessions-".length));
    const measured = kinds.filter((kind) => !output.includes(`sessions in ${kind} are left out`));
    const names = ["append", "tail", "load", "memory", "at-once"];
    const ids = measured.flatMap((kind) => names.map((name) => `sessions.${kind}.${name}`));
    expect(figures.map(({ id }) => id).sort()).toEqual(ids.sort());
    for (const { title, value } of figures) {
      expect(output).toContain(title);
      expect(Number.isFinite(value)).toBe(true);
    }
  });

  test("takes the exponent of growth from the rounds its cases have", async () => {
    const { caseFigures } = (await import(resolve("bench/figures.mjs"))) as {
      readonly caseFigures: (
        runs: object,
      ) => readonly { readonly id: string; readonly value: number; readonly note: string }[];
    };
    const run = (rounds: number) => {
      const laps = [{ laps: [rounds ** 2] }];
      return { plan: { turns: 1 }, rounds, bare: laps, ennead: laps };
    };
    const growth = caseFigures({ "rounds-50": run(50), "rounds-200": run(150) }).find(
      ({ id }) => id === "rounds.exponent",
    );
    expect(growth).toMatchObject({ value: expect.closeTo(2), note: "from 50 to 150 rounds" });
  });

  describe("its check of what a variant left behind", () => {
    type Check = (name: string, given: object) => void;
    const load = async (path: string): Promise<unknown> => import(resolve("bench", path));

    async function check(change: (digests: { readonly bare: Digest; readonly ennead: Digest }) => void): Promise<void> {
      const { checkDigests } = (await load("case.mjs")) as { readonly checkDigests: Check };
      const { textReply } = (await load("subjects/replies.mjs")) as { readonly textReply: (count: number) => object };
      const { plan, bare, ennead } = written.runs.turn;
      const digests = structuredClone({ bare: bare[0].digest, ennead: ennead[0].digest });
      change(digests);
      checkDigests("turn", { plan, replies: [textReply(20)], ...digests });
    }

    test("takes what was really done", async () => {
      await expect(check(() => undefined)).resolves.toBeUndefined();
    });

    test.each<[string, (digests: { readonly bare: Digest; readonly ennead: Digest }) => void]>([
      ["a lost event", ({ ennead }) => void (ennead.counts.chunks -= 1)],
      ["a message nobody was told of", ({ ennead }) => void (ennead.counts.messages -= 1)],
      ["a message that was not stored", ({ ennead }) => void (ennead.stored.messages -= 1)],
      ["another text in the store", ({ ennead }) => void (ennead.stored.hash = "0123456789abcdef")],
      ["a text that is cut short", ({ ennead }) => void (ennead.textLength -= 1)],
      ["a secondary failure", ({ ennead }) => void (ennead.failures += 1)],
      ["a bare loop that skips work", ({ bare }) => void (bare.requests -= 1)],
    ])("refuses %s", async (_, change) => {
      await expect(check(change)).rejects.toThrow(/^turn: /);
    });
  });

  test("a wrong result ends the run with an error", async () => {
    const wrong = `
      export const bare = turn.bare;
      export const ennead = async () => {
        const subject = await turn.ennead();
        let turns = 0;
        const most = async (id) => { if (turns++ > 0) await subject.turn(id); };
        return { turn: most, digest: () => subject.digest(), close: () => subject.close() };
      };`;
    const { code, output } = await bench("--cases", caseFolder("wrong", wrong), "--only", "turn");
    expect(code).toBe(1);
    expect(output).toContain("what ennead did is not what the script demands");
  });

  test("two variants that both do nothing end it too", async () => {
    const idle = `
      const nothing = async () => {
        const subject = await turn.bare();
        return { turn: async () => undefined, digest: () => subject.digest(), close: () => subject.close() };
      };
      export const [bare, ennead] = [nothing, nothing];`;
    const { code, output } = await bench("--cases", caseFolder("idle", idle), "--only", "turn");
    expect(code).toBe(1);
    expect(output).toContain("what bare did is not what the script demands");
  });
});
