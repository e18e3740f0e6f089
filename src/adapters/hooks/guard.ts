import { Defect, errorCategory } from "../../domain/errors.js";
import { isJsonObject, type Json } from "../../domain/json.js";
import { safeLine } from "../../domain/safe-label.js";
import type { Awaitable } from "../../ports/awaitable.js";
import type { HookContext } from "../../ports/hook.js";
import { bounded } from "./bounded.js";

/** Nothing lets it pass. `block` keeps this one thing out, `stop` ends the turn as well, `replace` puts something in its place. */
export type Verdict<T> =
  | undefined
  | null
  | void
  | { readonly block: string }
  | { readonly stop: string }
  | { readonly replace: T };

/** What a check may know. `signal` is aborted with the turn, and when the time is up. */
export type CheckContext = Pick<HookContext, "sessionId" | "turnId" | "round"> & { readonly signal: AbortSignal };

/** One check; where it throws, takes too long, or answers something else, `onFailure` decides. */
export type Check<S, T> = (subject: S, context: CheckContext) => Awaitable<Verdict<T>>;

/** What is to be done. */
export type Action<T extends Json> =
  | { readonly type: "pass" }
  | { readonly type: "block" | "stop"; readonly reason: string }
  | { readonly type: "replace"; readonly value: T };

/** One thing to check: `name` is unique within the stage, `isValue` tells whether a replacement is one. */
export type Judged<S, T extends Json> = {
  readonly name: string;
  readonly check: Check<S, T>;
  readonly subject: S;
  isValue(value: unknown): value is T;
  /** It is what was said before the turn was aborted: the check gets a moment all the same. */
  readonly late?: boolean;
};

const REASON_LENGTH = 300;
/** A turn that was aborted is over within a second (L5), what was said being checked and stored by then. */
const LATE_MS = 400;

/** Asks checks within their time and tells what came of it. */
export class Guard {
  readonly #timeoutMs: number;
  readonly #onFailure: "block" | "pass";

  constructor(timeoutMs: number, onFailure: "block" | "pass") {
    this.#timeoutMs = timeoutMs;
    this.#onFailure = onFailure;
  }

  /** Rejects only where the turn was aborted. Recorded, so that a check is asked once whatever is replayed. */
  async judge<S, T extends Json>(context: HookContext, judged: Judged<S, T>): Promise<Action<T>> {
    const action = (await context.step(judged.name, () => this.#action(context, judged) as Promise<Json>)) as Action<T>;
    if (action.type !== "pass") {
      const reason = "reason" in action ? { reason: action.reason } : {};
      context.emit("guardrail", { what: judged.name, action: action.type, ...reason });
    }
    return action;
  }

  async #action<S, T extends Json>(
    context: HookContext,
    { name, check, subject, isValue, late = false }: Judged<S, T>,
  ): Promise<Action<T>> {
    const { sessionId, turnId, round } = context;
    const turn = late ? new AbortController().signal : context.signal;
    const timeoutMs = late ? Math.min(this.#timeoutMs, LATE_MS) : this.#timeoutMs;
    try {
      const verdict = await bounded(timeoutMs, turn, (signal) => check(subject, { sessionId, turnId, round, signal }));
      return actionOf(verdict, isValue);
    } catch (error) {
      if (Defect.is(error) || turn.aborted) throw error;
      context.emit("guardrail-failed", { what: name, errorCategory: errorCategory(error) });
      return this.#onFailure === "pass" ? { type: "pass" } : unchecked(error);
    }
  }
}

/** What becomes of a thing whose check failed. Rethrows a `Defect`. */
export function unchecked(error: unknown): Action<never> {
  if (Defect.is(error)) throw error;
  return { type: "block", reason: "it could not be checked" };
}

function actionOf<T extends Json>(verdict: unknown, isValue: (value: unknown) => value is T): Action<T> {
  if (verdict === undefined || verdict === null) return { type: "pass" };
  if (isJsonObject(verdict)) {
    const [[kind, value], ...others] = Object.entries(verdict) as
      | [[string, unknown], ...unknown[]]
      | [[undefined, undefined]];
    if (others.length === 0) {
      if ((kind === "block" || kind === "stop") && typeof value === "string") {
        return { type: kind, reason: safeLine(value, REASON_LENGTH) };
      }
      if (kind === "replace" && isValue(value)) return { type: "replace", value };
    }
  }
  throw new TypeError("a check answers nothing, or one of block, stop and replace");
}
