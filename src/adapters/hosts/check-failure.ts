import { dirname, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { describeThrown } from "../../domain/describe-thrown.js";
import type { Failure } from "./check-message.js";

const LONGEST = 4_000;
const MOST_CAUSES = 3;
/** Names that say nothing beside their message. */
const PLAIN = new Set(["Error", "AggregateError", "ClaimFailure"]);

/** Text and place of any thrown value, its causes included; places below `cwd` are relative to it. */
export function failureOf(error: unknown, cwd: string): Failure {
  const errors = chain(error);
  const lines = errors.map((one, depth) => (depth === 0 ? "" : "caused by: ") + wordsOf(one));
  const message = lines.join("\n");
  const cut = message.length > LONGEST ? `${message.slice(0, LONGEST)}…` : message;
  return { message: cut, place: errors.map((one) => placeOf(one, cwd)).find((place) => place !== undefined) };
}

function chain(error: unknown): readonly unknown[] {
  const errors = [error];
  for (let one = error; errors.length <= MOST_CAUSES; errors.push(one)) {
    one = fieldOf(one, "cause");
    if (one === undefined) break;
  }
  return errors;
}

function wordsOf(error: unknown): string {
  const words = describeThrown(error);
  const name = fieldOf(error, "name");
  if (typeof name !== "string" || name === "" || PLAIN.has(name) || words.startsWith(name)) return words;
  return `${name}: ${words}`;
}

/** The first place of the stack that is not of this package or of Node. */
function placeOf(error: unknown, cwd: string): string | undefined {
  const stack = fieldOf(error, "stack");
  if (typeof stack !== "string") return undefined;
  const own = dirname(fileURLToPath(import.meta.url));
  for (const line of stack.slice(0, 20_000).split("\n")) {
    const found = PLACE.exec(line.trimEnd())?.[1];
    const path = found === undefined ? undefined : pathOf(found);
    if (path === undefined || path.startsWith(own)) continue;
    return path.startsWith(cwd) ? relative(cwd, path) : path;
  }
  return undefined;
}

/** The end of a line of a stack. */
const PLACE = /(?:\(|at (?:async )?)((?:file:\/\/|\/|[A-Za-z]:\\)[^()]*:\d+)\)?$/;

function pathOf(found: string): string | undefined {
  if (!found.startsWith("file:")) return found;
  try {
    return fileURLToPath(found);
  } catch {
    return undefined;
  }
}

/** A field of whatever was thrown, which may be a proxy that cannot be asked. */
function fieldOf(value: unknown, key: string): unknown {
  if (typeof value !== "object" || value === null) return undefined;
  try {
    return Reflect.get(value, key) as unknown;
  } catch {
    return undefined;
  }
}
