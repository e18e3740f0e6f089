import type { ModelErrorKind } from "../../../domain/errors.js";
import { ModelFailure } from "./model-failure.js";
import { type Complaint, complaintOf, plainText } from "./provider-complaint.js";
import { retryAfterMs, retryAfterOf, retryInfoMs } from "./retry-after.js";
import { decodeJson, textField } from "./wire-json.js";

/** The failure that an answer with an error status stands for. `body` may be cut; `now` is epoch milliseconds, for dates to wait for. */
export function httpFailure(status: number, headers: Headers, body: string, now: number): ModelFailure {
  const about = decodeJson(body);
  const complaint = complaintOf(about) ?? { message: plainText(body), code: "", status: undefined };
  const toldMs = retryAfterMs(headers, now);
  const verdict = judge(complaint, status, about, toldMs);
  return new ModelFailure(verdict.kind, `HTTP ${status}${status < 400 ? ", a redirect, which is not followed" : ""}`, {
    status,
    quote: complaint.message,
    about: about ?? body,
    requestId: requestIdOf(headers) ?? textField(about, "request_id"),
    retryAfterMs: toldMs ?? waitOf(verdict, complaint, about),
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
  /context.?(?:length|window|size|limit)|maximum (?:context|prompt)|exceed.{0,20}token limit|`inputs`.{0,30}must (?:be <=|have less than)|prompt.{0,20}too long|input.{0,20}too long|too many (?:input )?tokens|reduce the length|(?:prompt|input|messages).{0,60}exceeds?.{0,40}(?:tokens|limit|length)|range of input length|context shift|(?:conversation|\bmessages|history)(?: is| are)? too (?:long|large)|exceeds? max message tokens|longer than the (?:model.{0,3} )?context|model_max_prompt_tokens|request_too_large|string_above_max_length/i;
/** Said of a setting: what it names is no property of the conversation. */
const SETTING =
  /\b(?:unknown|unsupported|unrecogni[sz]ed|unexpected|invalid) (?:request )?(?:parameter|argument|field|key|property|option)|(?:parameter|argument|field|property|option)\b.{0,60}(?:not supported|unsupported|not allowed|not permitted|unknown)|extra inputs are not permitted|maximum value for\W{0,3}max_|(?<!\+ ?\W?)max_(?:completion_|output_|new_)?tokens\W{1,3}(?:must|should|can ?not|may not) be/i;
const SETTING_CODE = /\b(?:unknown|unsupported)_(?:parameter|value)\b/;
/** Statuses with which providers tell that a request is too long, and with which they tell what they do not want to answer. */
const TOO_LONG = new Set<number | undefined>([undefined, 400, 422, 500, 502]);
const UNWANTED = new Set<number | undefined>([undefined, 400, 403, 422, 451]);
const FILTERED =
  /content.?(?:filter|policy)|responsible.?ai|moderation|flagged|inappropriate content|data.?inspection|content exists risk|\bnew_sensitive\b|敏感/i;
const BAD_KEY =
  /(?:invalid|incorrect|expired|missing).{0,6}api.?key|api.?key.{0,12}(?:not valid|invalid|incorrect|expired)|authentication/i;
const NO_CREDIT =
  /credit balance is too low|insufficient.?(?:quota|balance|credit|funds)|billing|exceeded your current quota|payment/i;
/** The same from providers that speak of nothing else. The words above also stand in advice on how to get higher limits. */
const NO_CREDIT_FOR_SURE =
  /insufficient.?(?:quota|balance|credit|funds)|credit balance is too low|billing.?(?:hard.?limit|not.?active)|exceeded your current quota|payment.?required/i;
/** The same under a status that says no more than that the request is refused. */
const THROTTLED =
  /rate.?limit.{0,20}(?:exceed|reach|error)|exceeded.{0,40}rate.?limit|too many requests|\bthrottl(?:ed|ing)(?:exception)?\b/i;
const PACE =
  /rate.?limit|too many requests|\b(?:requests|tokens) per (?:min|sec|hour|day)|\b[tr]p[mds]\b|try again in \d|retry in \d/i;

function judge(complaint: Complaint, status: number | undefined, about: unknown, toldMs?: number): Verdict {
  const words = `${complaint.code.slice(0, 500)} ${complaint.message.slice(0, 2000)}`;
  const isSetting =
    SETTING_CODE.test(complaint.code) ||
    (SETTING.test(complaint.message.slice(0, 2000)) && !OVERFLOW.test(complaint.code));
  const fromStatus = status === undefined ? byWords(words) : byStatus(status, isSetting ? "" : words);
  if (fromStatus.kind === "rate-limit") {
    const passes = retryInfoMs(about) !== undefined || toldMs !== undefined || PACE.test(words);
    const noCredit = passes ? NO_CREDIT_FOR_SURE : NO_CREDIT;
    return noCredit.test(words) && retryInfoMs(about) === undefined
      ? { kind: "rate-limit", retryable: false }
      : fromStatus;
  }
  if (status === 401 || status === 408) return fromStatus;
  if (status === 413) return /rate.?limit/i.test(words) ? { kind: "rate-limit" } : { kind: "context-overflow" };
  if (!isSetting && TOO_LONG.has(status) && OVERFLOW.test(words)) return { kind: "context-overflow" };
  if (!isSetting && UNWANTED.has(status) && fromStatus.kind !== "server" && FILTERED.test(words)) {
    return { kind: "content-filter" };
  }
  if (fromStatus.kind === "invalid-request" && BAD_KEY.test(words)) return { kind: "auth" };
  return fromStatus;
}

function byStatus(status: number, words: string): Verdict {
  const isVague = status === 400 || status === 403;
  if (isVague && (THROTTLED.test(words) || NO_CREDIT_FOR_SURE.test(words))) return { kind: "rate-limit" };
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
    case 420:
    case 429:
      return { kind: "rate-limit" };
    // A backend failed, or what stands before it gave the request up.
    case 424:
    case 499:
      return { kind: "server" };
    case 498:
      return { kind: "overloaded" };
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
  if (SETTING.test(words) || SETTING_CODE.test(words)) return { kind: "invalid-request" };
  if (FILTERED.test(words)) return { kind: "content-filter" };
  if (BAD_REQUEST.test(words)) return { kind: "invalid-request" };
  return { kind: "server" };
}
