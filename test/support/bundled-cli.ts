import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ChildProcess, spawn } from "node:child_process";
import { build } from "esbuild";
import { Screen } from "./screen.js";

/** The command line as one program of its own in a temporary folder, so that tests need no build of the package. */
export class BundledCli {
  readonly place = mkdtempSync(join(tmpdir(), "ennead-cli-"));

  static async make(): Promise<BundledCli> {
    const cli = new BundledCli();
    await build({
      entryPoints: ["src/adapters/hosts/cli.ts"],
      outdir: join(cli.place, "dist"),
      bundle: true,
      splitting: true,
      platform: "node",
      format: "esm",
      target: "node22",
      logLevel: "warning",
    });
    writeFileSync(join(cli.place, "package.json"), '{ "name": "ennead", "version": "9.8.7", "type": "module" }');
    return cli;
  }

  /** Starts it with an environment that holds nothing but `env` and a home of its own. */
  start(args: readonly string[], env: Readonly<Record<string, string>> = {}): RunningCli {
    const child = spawn(process.execPath, [join(this.place, "dist", "cli.js"), ...args], {
      cwd: this.place,
      env: { HOME: this.place, ...env },
      stdio: ["pipe", "pipe", "pipe"],
    });
    return new RunningCli(child);
  }

  remove(): void {
    rmSync(this.place, { recursive: true, force: true });
  }
}

/** A running command line: both its outputs come to one screen. */
export class RunningCli {
  readonly screen = new Screen();
  /** What came to its standard output alone. */
  output = "";
  /** The exit code. */
  readonly ended: Promise<number | null>;
  readonly #child: ChildProcess;

  constructor(child: ChildProcess) {
    this.#child = child;
    for (const stream of [child.stdout, child.stderr])
      stream?.setEncoding("utf8").on("data", (text: string) => this.screen.show(text));
    child.stdout?.on("data", (text: string) => (this.output += text));
    if (child.stdin !== null) this.screen.input.pipe(child.stdin);
    this.ended = new Promise((resolve, reject) => {
      child.on("error", reject);
      child.on("close", (code) => resolve(code));
    });
  }

  interrupt(): void {
    this.#child.kill("SIGINT");
  }

  /** Whoever reads its output goes away, as `head` does. */
  stopReading(): void {
    this.#child.stdout?.destroy();
  }

  /** Ends the input and resolves with the exit code. */
  finish(): Promise<number | null> {
    this.screen.input.end();
    return this.ended;
  }
}
