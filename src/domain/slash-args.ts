import { setOwn } from "./adopt.js";
import type { CommandArgs, CommandParam, CommandValue, Parsed } from "./command.js";
import { safeLabel } from "./safe-label.js";
import { unreachable } from "./unreachable.js";
import { completeArgs } from "./validate-args.js";
import { markedWords, type Word } from "./words.js";

const BOOLEANS: ReadonlyMap<string, boolean> = new Map([
  ["true", true],
  ["on", true],
  ["yes", true],
  ["false", false],
  ["off", false],
  ["no", false],
]);

/**
 * Reads the text behind a command's name, word by word from the left: `name=value` sets that parameter, any other word the next
 * positional one that is not set yet. Quoting or escaping the `=` makes a word positional whatever it looks like. Values are taken
 * as they are: nothing in them is expanded. Never throws.
 */
export function parseSlashArgs(text: string, params: readonly CommandParam[]): Parsed<CommandArgs> {
  const words = markedWords(text);
  if (!words.ok) return words;
  const values = new Map<string, CommandValue>();
  for (const word of words.value) {
    const target = targetOf(word, params, values);
    if (!target.ok) return target;
    const value = readValue(target.value.param, target.value.word);
    if (!value.ok) return value;
    values.set(target.value.param.name, value.value);
  }
  const args: Record<string, CommandValue> = {};
  for (const [name, value] of values) setOwn(args, name, value);
  return completeArgs(params, args);
}

type Target = { readonly param: CommandParam; readonly word: Word };

function targetOf(word: Word, params: readonly CommandParam[], set: ReadonlyMap<string, unknown>): Parsed<Target> {
  const key = word.equals > 0 ? word.text.slice(0, word.equals) : undefined;
  const named = key === undefined ? undefined : params.find((param) => param.name === key);
  if (named !== undefined) {
    if (set.has(named.name)) return { ok: false, reason: `"${safeLabel(named.name)}" is given twice` };
    return { ok: true, value: { param: named, word: valuePart(word) } };
  }
  const free = params.find((param) => param.positional && !set.has(param.name));
  if (free !== undefined) return { ok: true, value: { param: free, word } };
  const what =
    key === undefined ? `"${safeLabel(word.text)}" is one argument too many` : `there is no "${safeLabel(key)}"`;
  return { ok: false, reason: what };
}

function valuePart(word: Word): Word {
  const from = word.equals + 1;
  return {
    ...word,
    text: word.text.slice(from),
    commas: word.commas.filter((at) => at >= from).map((at) => at - from),
  };
}

function readValue(param: CommandParam, word: Word): Parsed<CommandValue> {
  switch (param.type) {
    case "string":
      return { ok: true, value: word.text };
    case "int":
      return readInt(param, word.text);
    case "bool": {
      const value = BOOLEANS.get(word.text);
      if (value !== undefined) return { ok: true, value };
      return { ok: false, reason: `"${safeLabel(param.name)}" takes true, false, on, off, yes or no` };
    }
    case "strings":
      return { ok: true, value: splitList(word) };
    default:
      return unreachable(param.type);
  }
}

function readInt(param: CommandParam, text: string): Parsed<number> {
  const value = /^[+-]?[0-9]+$/.test(text) ? Number(text) : Number.NaN;
  if (!Number.isSafeInteger(value)) return { ok: false, reason: `"${safeLabel(param.name)}" takes a whole number` };
  return { ok: true, value: value === 0 ? 0 : value };
}

/** An empty value is the empty list unless it was quoted. */
function splitList(word: Word): readonly string[] {
  if (word.text === "" && !word.quoted) return [];
  const ends = [...word.commas, word.text.length];
  return ends.map((end, index) => word.text.slice(index === 0 ? 0 : (ends[index - 1] ?? 0) + 1, end));
}
