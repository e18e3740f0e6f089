import { randomUUID } from "node:crypto";
import { statSync } from "node:fs";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { terminalText } from "../observers/terminal-text.js";
import { type ChildEnd, runChild } from "./check-child.js";
import type { CheckMessage, ClaimLine, Failure, Subject } from "./check-message.js";
import { jsonText, lineText, problemText, subjectText, summaryText } from "./check-report.js";
import type { CheckFlags } from "./cli-flags.js";

/** Where a check writes: its report, and beside it problems and what the module prints. */
export type CheckOutput = {
  readonly report: (text: string) => void;
  readonly errors: (text: string) => void;
};

/** Characters of what a module prints that are shown. */
const NOISE_LIMIT = 64_000;

/**
 * Checks the claims of a module's adapters in a process of its own, started with `program`, and reports them as they settle.
 * Resolves with the exit code: 0 no claim failed, 1 one did, 2 the module could not be checked.
 */
export async function check(flags: CheckFlags, program: string, output: CheckOutput): Promise<number> {
  const run = new CheckRun(flags, output);
  const file = fileOf(flags.module);
  if (file === undefined) return run.problem({ message: `no file ${flags.module}; a module is named by its path` });
  const { only, timeoutMs } = flags;
  const printed = limited(output.errors);
  const message = (one: CheckMessage): void => run.take(one);
  return run.end(await runChild(program, { file, only, timeoutMs, token: randomUUID() }, { message, printed }));
}

/** The file that a path or a `file:` URL names, undefined where there is none. */
function fileOf(module: string): string | undefined {
  try {
    const file = module.startsWith("file:") ? fileURLToPath(module) : resolve(module);
    return statSync(file).isFile() ? file : undefined;
  } catch {
    return undefined;
  }
}

class CheckRun {
  readonly #flags: CheckFlags;
  readonly #output: CheckOutput;
  readonly #lines: ClaimLine[] = [];
  #subjects: readonly Subject[] = [];
  #running: { readonly subject: string; readonly id: string; readonly title: string } | undefined;
  #problem: Failure | undefined;
  #done = false;

  constructor(flags: CheckFlags, output: CheckOutput) {
    this.#flags = flags;
    this.#output = output;
  }

  take(message: CheckMessage): void {
    switch (message.type) {
      case "subjects":
        this.#subjects = message.subjects;
        return;
      case "begun":
        if (this.#lines.at(-1)?.subject !== message.subject) this.#head(message.subject);
        this.#running = message;
        return;
      case "settled":
        this.#running = undefined;
        return this.#add(message.line);
      case "unusable":
        this.#problem = message.failure;
        return;
      case "done":
        this.#done = true;
    }
  }

  /** Ends the report for how the process ended. */
  end(end: ChildEnd): number {
    if (this.#problem !== undefined) return this.problem(this.#problem);
    if (!this.#done && this.#running === undefined) return this.problem({ message: whyUnloaded(end) });
    if (this.#running !== undefined) {
      const { subject, id, title } = this.#running;
      this.#add({ subject, id, title, outcome: "failed", message: `${whyStopped(end)}; nothing after it was checked` });
    }
    return this.#finish();
  }

  /** Ends the report with why the module could not be checked. */
  problem(problem: Failure): number {
    this.#problem = problem;
    if (!this.#flags.json) this.#output.errors(problemText(problem));
    return this.#finish();
  }

  #finish(): number {
    const { json, module } = this.#flags;
    const claims = this.#lines;
    const failed = claims.some(({ outcome }) => outcome === "failed");
    const ok = !failed && this.#problem === undefined;
    if (json) this.#output.report(jsonText({ ok, module, problem: this.#problem, claims }));
    else if (claims.length > 0) this.#output.report(summaryText(claims));
    return this.#problem !== undefined ? 2 : failed ? 1 : 0;
  }

  #head(name: string): void {
    const subject = this.#subjects.find((one) => one.name === name);
    if (subject !== undefined && !this.#flags.json) this.#output.report(subjectText(subject));
  }

  #add(line: ClaimLine): void {
    this.#lines.push(line);
    if (!this.#flags.json) this.#output.report(lineText(line));
  }
}

/** Node's code for a module whose top level awaits something that nobody will settle. */
const UNSETTLED = 13;

function whyUnloaded(end: ChildEnd): string {
  if (end.type === "silent") return `the module was not loaded within ${end.ms} ms`;
  if (end.code === UNSETTLED) return "the module awaits at its top level what never settles";
  return `the module ended its process while it was loaded (${codeOf(end)})`;
}

function whyStopped(end: ChildEnd): string {
  if (end.type === "silent") return `it kept its process busy for ${end.ms} ms without a pause`;
  return `it ended its process (${codeOf(end)})`;
}

function codeOf({ code, signal }: ChildEnd & { type: "ended" }): string {
  return signal === null ? `exit code ${code}` : signal;
}

/** Passes on clean text up to a limit, and says so once it is reached. */
function limited(write: (text: string) => void): (text: string) => void {
  let left = NOISE_LIMIT;
  return (text) => {
    if (left <= 0) return;
    write(terminalText(text.slice(0, left)));
    left -= text.length;
    if (left <= 0) write("\n[the rest of what the module prints is left out]\n");
  };
}
