const CONTEXT = 2;
/** Beyond that many comparisons lines are not aligned, but shown one list after the other. */
const MOST_COMPARISONS = 4_000_000;

type Line = { readonly sign: " " | "-" | "+"; readonly index: number; readonly text: string };

/**
 * How a trace differs from the one that was expected, as lines: `-` for what is missing, `+` for what is there instead, each with its index in its own
 * trace, and two lines around them. Undefined where they agree.
 */
export function traceDifference(expected: readonly string[], actual: readonly string[]): string | undefined {
  if (expected.length === actual.length && expected.every((line, index) => line === actual[index])) return undefined;
  const lines = aligned(expected, actual);
  const width = String(Math.max(expected.length, actual.length)).length;
  const told: string[] = [];
  lines.forEach((line, place) => {
    const near = lines.slice(Math.max(0, place - CONTEXT), place + CONTEXT + 1).some(({ sign }) => sign !== " ");
    if (near) told.push(`${line.sign} ${String(line.index).padStart(width)} ${line.text}`);
    else if (told.at(-1) !== "  …") told.push("  …");
  });
  const count = (sign: Line["sign"]): number => lines.filter((line) => line.sign === sign).length;
  return [`the trace differs: ${count("-")} missing (-), ${count("+")} unexpected (+)`, ...told].join("\n");
}

/** Both lists as one, with as many lines in common as can be. */
function aligned(expected: readonly string[], actual: readonly string[]): Line[] {
  let start = 0;
  while (start < expected.length && start < actual.length && expected[start] === actual[start]) start += 1;
  let end = 0;
  const most = Math.min(expected.length, actual.length) - start;
  while (end < most && expected[expected.length - 1 - end] === actual[actual.length - 1 - end]) end += 1;
  const same = (from: number, to: number): Line[] =>
    actual.slice(from, to).map((text, at) => ({ sign: " ", index: from + at, text }));
  const left = expected.slice(start, expected.length - end);
  const right = actual.slice(start, actual.length - end);
  return [...same(0, start), ...changed(left, right, start), ...same(actual.length - end, actual.length)];
}

function changed(left: readonly string[], right: readonly string[], start: number): Line[] {
  const lines: Line[] = [];
  const take = (sign: Line["sign"], at: number): void =>
    void lines.push({ sign, index: start + at, text: (sign === "-" ? left : right)[at] ?? "" });
  const common = left.length * right.length > MOST_COMPARISONS ? undefined : commonLengths(left, right);
  let [i, j] = [0, 0];
  while (i < left.length || j < right.length) {
    if (i < left.length && j < right.length && left[i] === right[j] && common !== undefined) {
      take(" ", j);
      i += 1;
      j += 1;
    } else if (j >= right.length || (i < left.length && longest(common, i + 1, j) >= longest(common, i, j + 1)))
      take("-", i++);
    else take("+", j++);
  }
  return lines;
}

function longest(common: readonly Uint32Array[] | undefined, i: number, j: number): number {
  return common?.[i]?.[j] ?? 0;
}

/** By place in both lists, how many lines the rests have in common. */
function commonLengths(left: readonly string[], right: readonly string[]): Uint32Array[] {
  const table = Array.from({ length: left.length + 1 }, () => new Uint32Array(right.length + 1));
  for (let i = left.length - 1; i >= 0; i--) {
    for (let j = right.length - 1; j >= 0; j--) {
      const row = table[i] as Uint32Array;
      row[j] =
        left[i] === right[j]
          ? longest(table, i + 1, j + 1) + 1
          : Math.max(longest(table, i + 1, j), longest(table, i, j + 1));
    }
  }
  return table;
}
