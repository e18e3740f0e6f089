import type { ModelErrorDetails, ModelErrorKind } from "../../../domain/errors.js";

/** What a failure knows beside its text; `quote` is foreign text, `about` foreign JSON, both still with any secrets in them. */
export type FailureDetails = Pick<
  ModelErrorDetails,
  "status" | "retryAfterMs" | "requestId" | "retryable" | "cause"
> & {
  readonly quote?: string | undefined;
  readonly about?: unknown;
};

/** A failed model call before it is fit to leave the adapter; the adapter's edge turns each one into a `ModelError` without secrets. */
export class ModelFailure extends Error {
  readonly kind: ModelErrorKind;
  readonly details: FailureDetails;

  constructor(kind: ModelErrorKind, message: string, details: FailureDetails = {}) {
    super(message);
    this.kind = kind;
    this.details = details;
  }
}
