import { safeLabel } from "../../../domain/safe-label.js";
import { yesOrNo } from "../../../domain/yes-or-no.js";

/** Whether text has a format. */
export type FormatCheck = RegExp | ((text: string) => boolean);

/** Checks that answer the same for the same text, whatever came before; they throw a TypeError where an application's own says neither yes nor no. */
export function formatChecks(
  formats: Readonly<Record<string, FormatCheck>> = {},
): Readonly<Record<string, (text: string) => boolean>> {
  return Object.fromEntries(Object.entries(formats).map(([name, check]) => [name, checkOf(name, check)]));
}

function checkOf(name: string, check: FormatCheck): (text: string) => boolean {
  if (typeof check !== "function") {
    // A global or sticky one goes on from where it found something last.
    const pattern = new RegExp(check);
    return (text) => {
      pattern.lastIndex = 0;
      return pattern.test(text);
    };
  }
  return (text) => yesOrNo(`the format ${safeLabel(name)}`, check(text));
}
