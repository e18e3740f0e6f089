import { Defect, ModelError } from "../../../domain/errors.js";
import { safeLabel } from "../../../domain/safe-label.js";
import type { PartialResponse } from "../../../domain/stream.js";
import { requestIdOf } from "./http-errors.js";
import { ModelFailure } from "./model-failure.js";
import { toolNamedIn } from "./provider-complaint.js";
import { withoutSecrets } from "./secrets.js";
import type { WireNames } from "./wire-names.js";

/** What is known of a model call when it fails; `toolNames` as sent and in that order. */
export type FailedCall = {
  readonly provider: string;
  readonly names: WireNames;
  readonly toolNames: readonly string[];
  /** Texts that must not be quoted. */
  readonly secrets: readonly string[];
  /** Of the answer, if there was one. */
  readonly headers: Headers | undefined;
  /** The provider's id of the reply, where no header tells one of the request. */
  readonly replyId?: string | undefined;
  readonly soFar: PartialResponse;
};

/** A label is far shorter; blanks and secrets do not count for it. */
const QUOTED = 64 * 1024;

/**
 * The one way a failure leaves a model adapter: as a `ModelError` that quotes one short label without secrets. A `ModelError` and a
 * defect pass as they are; typed errors of other ports are causes like any other.
 */
export function toModelError(error: unknown, call: FailedCall): Error {
  if (error instanceof ModelError || (error instanceof Error && Defect.is(error))) return error;
  const { parts, usage } = call.soFar;
  const known = { provider: call.provider, usage, partial: parts.length === 0 ? undefined : parts };
  if (!(error instanceof ModelFailure)) {
    return new ModelError("response-parse", "the reply could not be read", { ...known, cause: error });
  }
  const { quote = "", about, ...details } = error.details;
  const label = (text: string): string =>
    safeLabel(withoutSecrets(text.slice(0, QUOTED), call.secrets).replace(/\s+/g, " ").trim());
  const requestId =
    details.requestId ?? (call.headers === undefined ? undefined : requestIdOf(call.headers)) ?? call.replyId;
  const toolName = error.kind === "invalid-request" ? toolNamedIn(about, call.toolNames) : undefined;
  return new ModelError(error.kind, quote === "" ? error.message : `${error.message}: ${label(quote)}`, {
    ...known,
    ...details,
    requestId: requestId === undefined ? undefined : label(requestId),
    toolName: toolName === undefined ? undefined : call.names.fromWire(toolName),
  });
}
