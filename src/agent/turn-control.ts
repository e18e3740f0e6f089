import { safeLabel } from "../domain/safe-label.js";
import type { StepScope } from "../ports/step-scope.js";

/** Ends a turn from outside: by an abort, or because a write failed. Both abort the turn's signal; only the first counts. */
export class TurnControl {
  readonly #controller = new AbortController();
  #scope: Pick<StepScope, "abort"> | undefined;
  #abortReason: string | undefined;
  #failure: { readonly error: unknown } | undefined;

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Why the turn was aborted, if it was. */
  get abortReason(): string | undefined {
    return this.#abortReason;
  }

  /** The write that failed, if one did. */
  get failure(): { readonly error: unknown } | undefined {
    return this.#failure;
  }

  /** The scope is told of an abort here, so that nothing needs a listener on the signal. */
  attach(scope: Pick<StepScope, "abort">): void {
    this.#scope = scope;
    if (this.signal.aborted) scope.abort?.();
  }

  abort(reason: string): void {
    if (this.signal.aborted) return;
    this.#abortReason = reason;
    this.#stop(reason);
  }

  fail(error: unknown): void {
    this.#failure ??= { error };
    if (!this.signal.aborted) this.#stop("a write of the turn failed");
  }

  #stop(reason: string): void {
    this.#controller.abort(new DOMException(reason, "AbortError"));
    this.#scope?.abort?.();
  }
}

/** Aborts with the caller's signal. Returns how to remove the one listener. */
export function followSignal(control: TurnControl, signal: AbortSignal): () => void {
  const onAbort = (): void => control.abort(reasonOf(signal));
  if (signal.aborted) onAbort();
  else signal.addEventListener("abort", onAbort, { once: true });
  return () => signal.removeEventListener("abort", onAbort);
}

/** A text for a reason that may be anything, and may throw where it is read; never the caller's own object. */
function reasonOf(signal: AbortSignal): string {
  try {
    const reason: unknown = signal.reason;
    if (typeof reason === "string") return safeLabel(reason);
    if (!(reason instanceof Error) || reason.name === "AbortError") return "aborted";
    const message: unknown = reason.message;
    return typeof message === "string" ? safeLabel(message) : "aborted";
  } catch {
    return "aborted";
  }
}
