import { execFile } from "node:child_process";
import { promisify } from "node:util";

const execute = promisify(execFile);

/** Runs a script in a fresh process and resolves with the JSON it printed; rejects with its error output when it failed. */
export async function runScript(file, ...args) {
  const { stdout } = await execute(process.execPath, [file, ...args], { maxBuffer: 16 * 1024 * 1024 });
  return JSON.parse(stdout);
}
