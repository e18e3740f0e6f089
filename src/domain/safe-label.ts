const LIMIT = 64;

/**
 * One line of text from outside, fit for an error message or a log: control, bidirectional and invisible characters removed, lone surrogates
 * replaced, at most 64 code points, then `...(truncated)`. Cost is bounded whatever the length of `text`.
 */
export function safeLabel(text: string): string {
  return safeLine(text, LIMIT);
}

/** The same with another limit, for text that is made of labels already. */
export function safeLine(text: string, limit: number): string {
  // 16 units a kept code point bounds the work on hostile input.
  const clean = text
    .slice(0, limit * 16)
    .replace(UNSAFE, "")
    .toWellFormed();
  let label = "";
  let count = 0;
  for (const point of clean) {
    if (count === limit) return `${label}...(truncated)`;
    label += point;
    count += 1;
  }
  return text.length > limit * 16 ? `${label}...(truncated)` : label;
}

/** A variation selector between text and picture stays: it shows. */
const UNSAFE = /(?![\ufe0e\ufe0f])[\p{Cc}\p{Default_Ignorable_Code_Point}\u2028\u2029]/gu;
