import { ModelError } from "../../domain/errors.js";

/** What `prepare` makes of a request; whatever it throws, it fails as `request-build`. */
export function prepared<T>(provider: string, prepare: () => T): T {
  try {
    return prepare();
  } catch (error) {
    throw new ModelError("request-build", "the request cannot be encoded as JSON", { provider, cause: error });
  }
}
