import { MemoryError, type MemoryErrorKind } from "../../domain/errors.js";
import { missingPackage } from "../../domain/missing-package.js";

/** Where the extension of the optional package `sqlite-vec` is; rejects with `MemoryError(kind)` where it is not, or not for this platform. */
export async function vectorExtension(kind: MemoryErrorKind): Promise<string> {
  try {
    const { getLoadablePath } = await import("sqlite-vec");
    return getLoadablePath();
  } catch (cause) {
    throw new MemoryError(kind, `embedding ${missingPackage("sqlite-vec", cause).message}`, { cause });
  }
}
