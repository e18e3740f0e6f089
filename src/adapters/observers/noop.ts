import type { Observer } from "../../ports/observer.js";

/** Watches nothing. */
export class NoopObserver implements Observer {
  onEvent(): void {}
}
