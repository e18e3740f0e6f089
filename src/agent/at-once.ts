import { isThenable } from "./observers.js";

/** What a function answered that has to answer at once. Throws a TypeError naming it for a promise, whose own failure is heard by nobody else then. */
export function atOnce<T>(name: string, answer: T): T {
  if (!isThenable(answer)) return answer;
  answer.then(undefined, () => undefined);
  throw new TypeError(`${name} answered a promise, and has to answer at once`);
}
