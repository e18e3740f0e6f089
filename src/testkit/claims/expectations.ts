import { safeLabel } from "../../domain/safe-label.js";

/** Thrown by an expectation that does not hold; says what was expected of whom. */
export class ClaimFailure extends Error {
  override readonly name = "ClaimFailure";
}

/** Throws a `ClaimFailure` with `what` unless `condition` holds. */
export function expectThat(condition: boolean, what: string): asserts condition {
  if (!condition) throw new ClaimFailure(what);
}

/** Compares own enumerable fields in depth, whatever their order; the failure names the first place that differs. */
export function expectEqual(actual: unknown, expected: unknown, what: string): void {
  const place = difference(actual, expected, "");
  if (place !== undefined) throw new ClaimFailure(`${what}: ${place}`);
}

/** Resolves with the error that `attempt` rejects with or throws, if it is of this class and, where given, of one of these kinds. */
export async function expectRejection<E extends Error & { readonly kind: string }>(
  attempt: () => unknown,
  type: abstract new (...parameters: never[]) => E,
  kinds: readonly E["kind"][],
  what: string,
): Promise<E> {
  let error: unknown;
  try {
    await attempt();
  } catch (thrown) {
    error = thrown;
    if (error instanceof type && (kinds.length === 0 || kinds.includes(error.kind))) return error;
  }
  const expected = `${type.name}(${kinds.join(" or ") || "any kind"})`;
  throw new ClaimFailure(`${what}: expected ${expected}, got ${error === undefined ? "no error" : show(error)}`);
}

/** Where two JSON values first differ, as text; undefined when they are equal. */
function difference(actual: unknown, expected: unknown, path: string): string | undefined {
  if (Object.is(actual, expected)) return undefined;
  const place = path === "" ? "" : `at ${path} `;
  if (!isObject(actual) || !isObject(expected) || Array.isArray(actual) !== Array.isArray(expected)) {
    return `${place}expected ${show(expected)}, got ${show(actual)}`;
  }
  for (const key of new Set([...Object.keys(expected), ...Object.keys(actual)])) {
    if (!Object.hasOwn(actual, key)) return `${place}lacks ${safeLabel(key)}`;
    if (!Object.hasOwn(expected, key)) return `${place}has an unexpected ${safeLabel(key)}`;
    const inner = difference(actual[key], expected[key], `${path}.${safeLabel(key)}`);
    if (inner !== undefined) return inner;
  }
  return Array.isArray(actual) && Array.isArray(expected) && actual.length !== expected.length
    ? `${place}has ${actual.length} items, not ${expected.length}`
    : undefined;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

function show(value: unknown): string {
  if (value instanceof Error) return safeLabel(`${value.name}: ${value.message}`);
  return safeLabel(typeof value === "object" ? (JSON.stringify(value) ?? typeof value) : String(value));
}
