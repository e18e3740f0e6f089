import type { Lifecycle } from "../../ports/lifecycle.js";

/** Has nothing to start and nothing to close. */
export class NoopLifecycle implements Lifecycle {
  readonly name = "noop";

  onStart(): Promise<void> {
    return Promise.resolve();
  }

  onShutdown(): Promise<void> {
    return Promise.resolve();
  }
}
