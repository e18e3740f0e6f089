import { ModelFailure } from "./model-failure.js";

/** What keys and tokens look like where providers quote them. */
const KEYS = [
  /\b(?:sk|pk|rk|gsk|xai|hf|ghp)[-_][\w-]{8,}/g,
  /\bAIza[\w-]{10,}/g,
  /(?<=\bbearer\s{1,4})[^\s"',}]{6,}/gi,
  /(?<=\b(?:api.?key|token|secret)\b[^:=\n]{0,30}[:=]\s{0,4}["']?)[^\s"',}]{6,}/gi,
  // Any long word of letters and digits, but for the ids that providers give.
  /\b(?!(?:rs|msg|req|resp|fc|call|chatcmpl|toolu|file|org|proj)[-_])(?=\w*[a-z])(?=\w*\d)\w{20,}\b/gi,
];
const READ = 64 * 1024;

/** The words of a foreign text that look like keys: where an application keeps its keys to itself, nothing else tells them. */
export function keysIn(text: string): readonly string[] {
  const head = text.slice(0, READ).replace(/\s+/g, " ");
  return KEYS.flatMap((pattern) => head.match(pattern) ?? []);
}

/** Words about a stored file that has gone, by which its request is healed; no key is among them. */
const EXPIRED = /permission to access the file/i;

/** A failure of somebody whose keys are not known here: of one that is about keys nothing is quoted. */
export function withoutUnknownKeys(failure: ModelFailure): ModelFailure {
  const { kind, message, details } = failure;
  if (kind !== "auth" || details.quote === undefined) return failure;
  return new ModelFailure(kind, message, { ...details, quote: EXPIRED.exec(details.quote)?.[0] });
}
