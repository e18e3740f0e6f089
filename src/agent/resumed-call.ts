import type { DeferredCall } from "../domain/session.js";
import type { Decision } from "../ports/hook.js";

/** A stored call that a resumed turn takes up: one that somebody decided about, or one of which nobody knows whether it ran. */
export type ResumedCall =
  | { readonly type: "decided"; readonly decision: Decision; readonly record: DeferredCall }
  | { readonly type: "unanswered" };

/** What a turn takes up that resumes nothing. */
export const NOTHING_RESUMED: ReadonlyMap<string, ResumedCall> = new Map();
