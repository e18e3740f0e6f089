/**
 * The answer of a function that says yes or no at once. Throws a TypeError naming it for anything else: a promise would pass for a yes, and its failure
 * would be nobody's.
 */
export function yesOrNo(what: string, answer: unknown): boolean {
  if (typeof answer === "boolean") return answer;
  Promise.resolve(answer).catch(() => undefined);
  throw new TypeError(`${what} answered neither true nor false`);
}
