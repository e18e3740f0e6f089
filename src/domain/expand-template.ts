import type { Parsed } from "./command.js";
import { markedWords, type Word } from "./words.js";

const PLACEHOLDER = /\$(?:ARGUMENTS(?![A-Za-z0-9_])|@|([1-9])(?![0-9]))/g;

/**
 * Puts what a user typed behind a command's name into a prompt, in one pass: inserted text is never looked at again. `$ARGUMENTS` and
 * `$@` stand for all of it as typed, without the blanks around it; `$1` to `$9` for its words, empty where there is none. Nothing the
 * user typed is lost: without `$ARGUMENTS` or `$@`, the words that no placeholder stands for are added below the prompt as they were
 * typed. Only a numbered placeholder needs closed quotes.
 */
export function expandTemplate(template: string, argumentText: string): Parsed<string> {
  const text = argumentText.trim();
  const found = [...template.matchAll(PLACEHOLDER)];
  const wantsAll = found.some((match) => match[1] === undefined);
  const used = new Set(found.map((match) => Number(match[1] ?? 0) - 1).filter((index) => index >= 0));
  const words: Parsed<readonly Word[]> = used.size === 0 ? { ok: true, value: [] } : markedWords(text);
  if (!words.ok) return words;
  const prompt = template.replace(PLACEHOLDER, (_match, digit: string | undefined) =>
    digit === undefined ? text : (words.value[Number(digit) - 1]?.text ?? ""),
  );
  const rest = wantsAll ? "" : unusedText(text, words.value, used);
  return { ok: true, value: rest === "" ? prompt : `${prompt}\n\n${rest}` };
}

function unusedText(text: string, words: readonly Word[], used: ReadonlySet<number>): string {
  if (used.size === 0) return text;
  const pieces = words.map(({ start }, index) => (used.has(index) ? "" : text.slice(start, words[index + 1]?.start)));
  return pieces.join("").trimEnd();
}
