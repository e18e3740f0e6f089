import { listField, objectField, textField } from "./wire-json.js";

/** The longest wait a timer can hold. */
const LONGEST = 2 ** 31 - 1;

/** So many seconds are no wait but a moment, counted from 1970. */
const EPOCH_SECONDS = 1_000_000_000;

/** The three date forms of HTTP, and ISO 8601. */
const DATE = /^(?:[A-Z][a-z]{2,8},? .*\d{2}:\d{2}:\d{2}.*|\d{4}-\d{2}-\d{2}T[\d:.]+(?:Z|[+-]\d{2}:\d{2}))$/i;

/**
 * Milliseconds a server asks to wait: `retry-after-ms`, as Azure names it too, or `retry-after` in seconds or as a date seen from `now`
 * (epoch milliseconds); of a header that two servers wrote, what the first says. Never negative, NaN or longer than a timer holds; undefined where the headers are absent or make no sense.
 */
export function retryAfterMs(headers: Headers, now: number): number | undefined {
  const inMs = duration(headers.get("retry-after-ms"), 1) ?? duration(headers.get("x-ms-retry-after-ms"), 1);
  return inMs ?? after(headers.get("retry-after"), now);
}

function after(value: string | null, now: number): number | undefined {
  const seconds = duration(value, 1000);
  if (value === null) return undefined;
  const isMoment = seconds !== undefined && Number.parseFloat(value) >= EPOCH_SECONDS;
  if (!isMoment && (seconds !== undefined || !DATE.test(value.trim()))) return seconds;
  const at = isMoment ? Number.parseFloat(value) * 1000 : Date.parse(value);
  return Number.isNaN(at) ? undefined : Math.min(Math.max(0, at - now), LONGEST);
}

function duration(value: string | null, unit: number): number | undefined {
  if (value === null || !/^\d+(?:\.\d+)?s?(?:,|$)/.test(value.trim())) return undefined;
  return Math.min(Math.round(Number.parseFloat(value) * unit), LONGEST);
}

/** The wait that a `google.rpc.RetryInfo` among the details of an error asks for. */
export function retryInfoMs(about: unknown): number | undefined {
  const details = listField(objectField(Array.isArray(about) ? about[0] : about, "error"), "details");
  for (const detail of details) {
    if (textField(detail, "@type")?.endsWith("google.rpc.RetryInfo") !== true) continue;
    const delay = textField(detail, "retryDelay");
    if (delay?.endsWith("s") === true) return duration(delay, 1000);
  }
  return undefined;
}

const WAIT =
  /(?:(?:try again|retry) (?:in|after)|wait(?: for)?) ((?:\d+(?:\.\d+)? ?(?:ms|milliseconds?|h|hours?|m|min|minutes?|s|sec|seconds?)(?![a-z]),? ?)+)/i;
/** Milliseconds of each unit, by how its name begins. */
const UNITS: readonly (readonly [string, number])[] = [
  ["ms", 1],
  ["mil", 1],
  ["h", 3_600_000],
  ["m", 60_000],
  ["s", 1000],
];

/** The wait that the text of a rate-limit error asks for, as in "Please try again in 1m2.5s" or "retry after 20 seconds". */
export function retryAfterOf(text: string): number | undefined {
  const [, wait = ""] = WAIT.exec(text.slice(0, 2000)) ?? [];
  let sum: number | undefined;
  for (const [, amount, unit = ""] of wait.matchAll(/([\d.]+) ?([a-z]+)/gi)) {
    const size = UNITS.find(([start]) => unit.toLowerCase().startsWith(start))?.[1] ?? 0;
    sum = (sum ?? 0) + Number(amount) * size;
  }
  return sum === undefined ? undefined : Math.min(Math.ceil(sum), LONGEST);
}
