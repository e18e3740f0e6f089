import type { Json } from "../../domain/json.js";
import { errorResult } from "../../domain/tool.js";
import type { ToolReturn } from "../../ports/tool-provider.js";

/** What a scripted tool does when it is called. */
export type ToolStep =
  | { readonly kind: "return"; readonly value: ToolReturn }
  | { readonly kind: "throw"; readonly error: unknown }
  | { readonly kind: "hang"; readonly ignoreAbort: boolean }
  | { readonly kind: "progress"; readonly partials: readonly Json[]; readonly then: ToolStep }
  | { readonly kind: "held" };

/** The steps of a `RecordingToolProvider`. */
export const toolOutcome = {
  /** Returns the value as it is: a result, text, JSON or nothing. */
  ok(value?: ToolReturn): ToolStep {
    return { kind: "return", value };
  },
  /** A business failure: a result with `isError`. */
  error(text: string): ToolStep {
    return { kind: "return", value: errorResult(text) };
  },
  /** Rejects with exactly this value. */
  throws(error: unknown): ToolStep {
    return { kind: "throw", error };
  },
  /** Waits for the abort and rejects with `ToolError("aborted")`; with `ignoreAbort` it never settles. */
  hangs(options: { readonly ignoreAbort?: boolean } = {}): ToolStep {
    return { kind: "hang", ignoreAbort: options.ignoreAbort ?? false };
  },
  /** Publishes the partial results, then goes on as `then`. */
  progress(partials: readonly Json[], then: ToolStep): ToolStep {
    return { kind: "progress", partials, then };
  },
  /** Waits, abort or not, until the test calls `settle` with the call's id. */
  held(): ToolStep {
    return { kind: "held" };
  },
};
