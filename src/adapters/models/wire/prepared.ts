import { ModelError } from "../../../domain/errors.js";

/** What `prepare` makes of a request; a `ModelError` stands, and whatever else it throws fails as `request-build`. */
export function prepared<T>(provider: string, prepare: () => T): T {
  try {
    return prepare();
  } catch (error) {
    if (error instanceof ModelError) throw error;
    throw new ModelError("request-build", "the request could not be prepared", { provider, cause: error });
  }
}
