import { ToolError } from "../../../domain/errors.js";
import type { ToolDef } from "../../../domain/tool.js";
import type { Runtime } from "../../../ports/runtime.js";
import type { ToolProvider } from "../../../ports/tool-provider.js";
import { listedBy } from "./listed-by.js";

type Timers = Pick<Runtime, "after">;

type Asked = { readonly answer: Promise<readonly ToolDef[]>; stop(): void; waiting: number };

/** Asks a source for its list, once for all who ask while it answers. An answer takes at most `timeoutMs`; nobody's abort ends it for the others. */
export class SharedListing {
  readonly #provider: ToolProvider;
  readonly #timeoutMs: number;
  readonly #timers: Timers;
  #asked: Asked | undefined;

  constructor(provider: ToolProvider, timeoutMs: number, timers: Timers = platformTimers) {
    this.#provider = provider;
    this.#timeoutMs = timeoutMs;
    this.#timers = timers;
  }

  /** Rejects with the signal's reason as soon as it is aborted. */
  async ask(signal: AbortSignal): Promise<readonly ToolDef[]> {
    signal.throwIfAborted();
    const asked = (this.#asked ??= this.#begin());
    asked.waiting += 1;
    const aborted = Promise.withResolvers<never>();
    const onAbort = (): void => aborted.reject(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    try {
      return await Promise.race([asked.answer, aborted.promise]);
    } finally {
      signal.removeEventListener("abort", onAbort);
      asked.waiting -= 1;
      if (asked.waiting === 0) this.#end(asked);
    }
  }

  #begin(): Asked {
    const controller = new AbortController();
    const late = Promise.withResolvers<never>();
    const cancel = this.#timers.after(
      this.#timeoutMs,
      () => late.reject(new ToolError("timeout", `no list of tools within ${this.#timeoutMs} ms`)),
      { keepAlive: true },
    );
    const listing = listedBy(this.#provider, { signal: controller.signal });
    let settled = false;
    const answer = Promise.race([listing, late.promise]).finally(() => (settled = true));
    // Everybody may have gone by then.
    answer.catch(() => undefined);
    const stop = (): void => {
      cancel();
      if (!settled) controller.abort();
    };
    // One that comes too late is told to stop, whoever waits.
    late.promise.catch(() => controller.abort());
    return { answer, stop, waiting: 0 };
  }

  /** Whoever asks next gets a new answer; a source that still answers this one may stop. */
  #end(asked: Asked): void {
    if (this.#asked === asked) this.#asked = undefined;
    asked.stop();
  }
}

const platformTimers: Timers = {
  after(ms, fn) {
    const timer = setTimeout(fn, Math.min(ms, 2 ** 31 - 1));
    return () => clearTimeout(timer);
  },
};
