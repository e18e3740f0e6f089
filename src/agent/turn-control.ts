import { safeLabel } from "../domain/safe-label.js";
import type { StepScope } from "../ports/step-scope.js";
import { TurnInbox } from "./turn-inbox.js";

/** What reaches a turn from outside: messages, an interruption, and what ends it. Of abort and time the first counts, a failed write is always noted; all three abort the turn's signal. */
export class TurnControl {
  /** Messages for the turn while it runs (L3). */
  readonly inbox = new TurnInbox();
  readonly #controller = new AbortController();
  #model: AbortController | undefined;
  #scope: Pick<StepScope, "abort" | "interrupt"> | undefined;
  #abortReason: string | undefined;
  #failure: { readonly error: unknown } | undefined;
  #expired: string | undefined;
  #interrupted = false;

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** What a model call is given: aborted with the turn, or alone by an interruption. One serves the calls of a turn until it is used up. */
  get modelSignal(): AbortSignal {
    if (this.#model === undefined || (this.#model.signal.aborted && !this.signal.aborted)) {
      this.#model = new AbortController();
      if (this.signal.aborted) this.#model.abort(this.signal.reason);
    }
    return this.#model.signal;
  }

  /** Why the turn was aborted, if it was. */
  get abortReason(): string | undefined {
    return this.#abortReason;
  }

  /** The write that failed, if one did. */
  get failure(): { readonly error: unknown } | undefined {
    return this.#failure;
  }

  /** The limit of time that ended the turn, if one did. */
  get expired(): string | undefined {
    return this.#expired;
  }

  /** Whether somebody interrupted the turn, and no message has been taken for it yet (L4). */
  get interrupted(): boolean {
    return this.#interrupted;
  }

  /** The scope is told of an abort here, so that nothing needs a listener on the signal. */
  attach(scope: Pick<StepScope, "abort" | "interrupt">): void {
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

  /** `limit` names what ran out. */
  expire(limit: string): void {
    if (this.signal.aborted) return;
    this.#expired = limit;
    this.#stop("the time of the turn is up");
  }

  /** Stops a model call that runs, and lets nothing of a batch start; what runs in it finishes (L4). */
  interrupt(): void {
    if (this.signal.aborted || this.#interrupted || this.inbox.closed) return;
    this.#interrupted = true;
    this.#model?.abort(new DOMException("the turn was interrupted", "AbortError"));
    this.#scope?.interrupt?.();
  }

  /** Stops a model call that runs, and nothing else. */
  stopModelCall(): void {
    this.#model?.abort(new DOMException("the reply is too large", "AbortError"));
    this.#scope?.interrupt?.();
  }

  /** A message goes on where somebody interrupted. */
  resume(): void {
    this.#interrupted = false;
  }

  #stop(reason: string): void {
    const error = new DOMException(reason, "AbortError");
    this.#controller.abort(error);
    this.#model?.abort(error);
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
