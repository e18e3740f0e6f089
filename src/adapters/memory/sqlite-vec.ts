import { MemoryError, type MemoryErrorKind } from "../../domain/errors.js";

/** Where the extension of the optional package `sqlite-vec` is; rejects with `MemoryError(kind)` where it is not, or not for this platform. */
export async function vectorExtension(kind: MemoryErrorKind): Promise<string> {
  try {
    const { getLoadablePath } = await import("sqlite-vec");
    return getLoadablePath();
  } catch (cause) {
    throw new MemoryError(kind, "embedding needs the package sqlite-vec, which does not load here", { cause });
  }
}
