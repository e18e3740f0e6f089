import type { ModelErrorKind } from "../../domain/errors.js";
import { ModelFailure } from "./model-failure.js";
import { type Complaint, complaintOf, plainText } from "./provider-complaint.js";
import { retryAfterMs, retryAfterOf, retryInfoMs } from "./retry-after.js";
import { decodeJson, textField } from "./wire-json.js";

/** The failure that an answer with an error status stands for. `body` may be cut; `now` is epoch milliseconds, for dates to wait for. */
export function httpFailure(status: number, headers: Headers, body: string, now: number): ModelFailure {
  const about = decodeJson(body);
  const complaint = complaintOf(about) ?? { message: plainText(body), code: "", status: undefined };
  const verdict = judge(complaint, status, about);
  return new ModelFailure(verdict.kind, `HTTP ${status}${status < 400 ? ", a redirect, which is not followed" : ""}`, {
    status,
    quote: complaint.message,
    about: about ?? body,
    requestId: requestIdOf(headers) ?? textField(about, "request_id"),
    retryAfterMs: retryAfterMs(headers, now) ?? waitOf(verdict, complaint, about),
    retryable: verdict.retryable,
  });
}

/** The failure that a provider reports inside a body it began with status 200. */
export function streamFailure(complaint: Complaint, about: unknown): ModelFailure {
  const verdict = judge(complaint, complaint.status, about);
  return new ModelFailure(verdict.kind, "the provider reported an error", {
    status: complaint.status,
    quote: complaint.message,
    about,
    requestId: textField(about, "request_id"),
    retryAfterMs: waitOf(verdict, complaint, about),
    retryable: verdict.retryable,
  });
}

function waitOf({ kind }: Verdict, { message }: Complaint, about: unknown): number | undefined {
  return retryInfoMs(about) ?? (kind === "rate-limit" ? retryAfterOf(message) : undefined);
}

/** The provider's id of a request, for its support. */
export function requestIdOf(headers: Headers): string | undefined {
  return headers.get("x-request-id") ?? headers.get("request-id") ?? headers.get("cf-ray") ?? undefined;
}

type Verdict = { readonly kind: ModelErrorKind; readonly retryable?: boolean };

const OVERFLOW =
  /context.?(?:length|window|size|limit)|maximum context|prompt.{0,20}too long|input.{0,20}too long|too many (?:input )?tokens|reduce the length|(?:prompt|input|messages).{0,60}exceeds?.{0,40}(?:tokens|limit|length)|range of input length|model_max_prompt_tokens|request_too_large|string_above_max_length/i;
const FILTERED = /content.?(?:filter|policy)|responsible.?ai|moderation|flagged/i;
const BAD_KEY =
  /(?:invalid|incorrect|expired|missing).{0,6}api.?key|api.?key.{0,12}(?:not valid|invalid|incorrect|expired)|authentication/i;
const NO_CREDIT = /insufficient.?(?:quota|balance|credit|funds)|billing|exceeded your current quota|payment/i;

function judge(complaint: Complaint, status: number | undefined, about: unknown): Verdict {
  const words = `${complaint.code.slice(0, 500)} ${complaint.message.slice(0, 2000)}`;
  const fromStatus = status === undefined ? byWords(words) : byStatus(status);
  if (fromStatus.kind === "rate-limit")
    return NO_CREDIT.test(words) && retryInfoMs(about) === undefined
      ? { kind: "rate-limit", retryable: false }
      : fromStatus;
  if (status === 401 || status === 408) return fromStatus;
  if (status === 413) return /rate.?limit/i.test(words) ? { kind: "rate-limit" } : { kind: "context-overflow" };
  if (OVERFLOW.test(words)) return { kind: "context-overflow" };
  if (fromStatus.kind !== "server" && FILTERED.test(words)) return { kind: "content-filter" };
  if (fromStatus.kind === "invalid-request" && BAD_KEY.test(words)) return { kind: "auth" };
  return fromStatus;
}

function byStatus(status: number): Verdict {
  switch (status) {
    case 401:
    case 403:
      return { kind: "auth" };
    case 402:
      return { kind: "rate-limit", retryable: false };
    case 408:
    case 504:
    case 522:
    case 524:
      return { kind: "timeout" };
    case 409:
    case 425:
      return { kind: "invalid-request", retryable: true };
    case 429:
      return { kind: "rate-limit" };
    case 501:
    case 505:
      return { kind: "server", retryable: false };
    case 503:
    case 529:
      return { kind: "overloaded" };
    default:
      return { kind: status >= 500 ? "server" : "invalid-request" };
  }
}

const BAD_REQUEST =
  /invalid.?(?:request|argument|prompt|image|base64|encrypted)|bad.?request|not.?found|unprocessable|unsupported|image_(?:parse|too|file)|empty_image/i;

/** Errors without a status: most come from a backend that failed in mid-reply. */
function byWords(words: string): Verdict {
  if (/rate.?limit|too many requests|resource.?exhausted|quota/i.test(words)) return { kind: "rate-limit" };
  if (NO_CREDIT.test(words)) return { kind: "rate-limit", retryable: false };
  if (/overloaded|capacity|unavailable/i.test(words)) return { kind: "overloaded" };
  if (/time.?d?.?out|deadline/i.test(words)) return { kind: "timeout" };
  if (BAD_KEY.test(words) || /permission.?(?:denied|error)|unauthorized/i.test(words)) return { kind: "auth" };
  if (FILTERED.test(words)) return { kind: "content-filter" };
  if (BAD_REQUEST.test(words)) return { kind: "invalid-request" };
  return { kind: "server" };
}
