import { ModelError, type ModelErrorDetails } from "../../../domain/errors.js";

/** The same error with other details and itself as the cause; the original is left as it is. */
export function modelErrorWith(error: ModelError, details: ModelErrorDetails): ModelError {
  return new ModelError(error.kind, textOfError(error), { ...detailsOf(error), cause: error, ...details });
}

/** All that a model error tells beside its kind and text. */
export function detailsOf(error: ModelError): ModelErrorDetails {
  const { status, retryAfterMs, provider, requestId, usage, partial, toolName, retryable } = error;
  return { status, retryAfterMs, provider, requestId, usage, partial, toolName, retryable };
}

/** The text without the class and kind in front. */
export function textOfError(error: ModelError): string {
  const label = `ModelError(${error.kind}): `;
  return error.message.startsWith(label) ? error.message.slice(label.length) : error.message;
}
