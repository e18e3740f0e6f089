import { Defect, EnneadError, ModelError, type ModelErrorKind } from "../../../domain/errors.js";
import { isJsonObject } from "../../../domain/json.js";
import { httpFailure, streamFailure } from "../wire/http-errors.js";
import { ModelFailure } from "../wire/model-failure.js";
import { complaintOf } from "../wire/provider-complaint.js";
import { transportFailure } from "../wire/read-text.js";
import { decodeJson, textField } from "../wire/wire-json.js";

/** What an error of the AI SDK says once it is known for what it is. */
type SdkError = {
  readonly message: string;
  readonly status: number | undefined;
  readonly headers: Headers;
  readonly body: string;
  readonly isRetryable: boolean | undefined;
  readonly cause: unknown;
};

/** The errors of the AI SDK that mean a request no repetition makes valid, or a reply that cannot be read. */
const KINDS: Readonly<Record<string, ModelErrorKind>> = {
  AI_LoadAPIKeyError: "auth",
  AI_LoadSettingError: "auth",
  AI_InvalidArgumentError: "request-build",
  AI_InvalidPromptError: "request-build",
  AI_UnsupportedFunctionalityError: "request-build",
  AI_NoSuchModelError: "invalid-request",
  AI_EmptyResponseBodyError: "response-parse",
  AI_InvalidResponseDataError: "response-parse",
  AI_JSONParseError: "response-parse",
  AI_NoContentGeneratedError: "response-parse",
  AI_TypeValidationError: "response-parse",
};

/**
 * The failure that whatever an AI SDK model throws or streams as an error stands for; a `ModelError` and a defect pass. Errors of any copy
 * of the SDK are known by their names; requests, addresses and bodies that they carry go nowhere.
 */
export function aiSdkFailure(error: unknown): unknown {
  if (error instanceof ModelError || Defect.is(error) || error instanceof ModelFailure) return error;
  if (error instanceof Error && error.cause instanceof ModelError) return error.cause;
  if (error instanceof Error && error.name === "AI_APICallError") return callFailure(sdkError(error));
  const kind = error instanceof Error && Object.hasOwn(KINDS, error.name) ? KINDS[error.name] : undefined;
  if (error instanceof Error && kind !== undefined) {
    return new ModelFailure(kind, WORDS[kind] ?? "the AI SDK refused the call", {
      quote: kind === "response-parse" ? undefined : error.message,
      retryable: kind === "response-parse",
    });
  }
  if (EnneadError.is(error)) return new ModelFailure("transport", "the model of the AI SDK failed", { cause: error });
  if (error instanceof Error) return transportFailure("the model of the AI SDK failed", error);
  const complaint = complaintOf(error) ?? { message: "", code: "", status: undefined };
  return streamFailure(complaint, error);
}

const WORDS: Readonly<Partial<Record<ModelErrorKind, string>>> = {
  auth: "the provider of the AI SDK has no key",
  "response-parse": "the AI SDK could not read the reply",
};

/** The headers of the answer that an error carries, for the id of its request. */
export function headersOf(error: unknown): Headers | undefined {
  return error instanceof Error && error.name === "AI_APICallError" ? sdkError(error).headers : undefined;
}

function sdkError(error: Error): SdkError {
  const field = (key: string): unknown => Reflect.get(error, key);
  const status = field("statusCode");
  const body = field("responseBody");
  const isRetryable = field("isRetryable");
  return {
    message: error.message,
    status: typeof status === "number" ? status : undefined,
    headers: decodedHeaders(field("responseHeaders")),
    body: typeof body === "string" ? body : "",
    isRetryable: typeof isRetryable === "boolean" ? isRetryable : undefined,
    cause: error.cause,
  };
}

/** Headers from any record; what is no header of HTTP is left out. */
export function decodedHeaders(value: unknown): Headers {
  const headers = new Headers();
  if (!isJsonObject(value)) return headers;
  for (const name of Object.keys(value)) {
    try {
      headers.set(name, textField(value, name) ?? "");
    } catch {
      // No header of HTTP, so none that anybody reads.
    }
  }
  return headers;
}

function callFailure({ message, status, headers, body, isRetryable, cause }: SdkError): ModelFailure {
  if (status === undefined) return transportFailure("the provider could not be reached", cause);
  if (status >= 200 && status < 300) {
    // What the SDK itself could not read has a name of the SDK.
    const broke = cause instanceof Error && !cause.name.startsWith("AI_");
    if (broke) return transportFailure("the connection broke while the reply was read", cause);
    const about = decodeJson(body);
    const complaint = isJsonObject(about) && "error" in about ? complaintOf(about) : undefined;
    if (complaint !== undefined) return streamFailure(complaint, about);
    return new ModelFailure("response-parse", "the AI SDK could not read the reply", { status, retryable: true });
  }
  const failure = httpFailure(status, headers, body === "" ? message : body, Date.now());
  const retryable = failure.details.retryable ?? isRetryable;
  return new ModelFailure(failure.kind, failure.message, { ...failure.details, retryable });
}
