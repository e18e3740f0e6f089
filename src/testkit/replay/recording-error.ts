import { Defect } from "../../domain/errors.js";

/** `exists`: there is a file, and nobody said it may be replaced. `damaged`: a line is no line of a recording. `version`: written by a newer package. */
export type RecordingErrorKind = "exists" | "unreadable" | "unwritable" | "damaged" | "version";

/** A file that holds no recording, or takes none. `line` counts from 1, where one line is to blame. */
export class RecordingError extends Error {
  override readonly name = "RecordingError";
  readonly kind: RecordingErrorKind;
  readonly line: number | undefined;

  constructor(
    kind: RecordingErrorKind,
    message: string,
    options: { readonly line?: number; readonly cause?: unknown } = {},
  ) {
    super(`RecordingError(${kind}): ${message}`, options.cause === undefined ? {} : { cause: options.cause });
    this.kind = kind;
    this.line = options.line;
  }
}

/** What is asked of a replay is not what was recorded, or more than that. A `Defect`, so that no agent turns it into an outcome. */
export class ReplayDrift extends Defect {
  override readonly name = "ReplayDrift";
}
