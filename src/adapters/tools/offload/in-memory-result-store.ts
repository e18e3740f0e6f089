import { checkValues, numberFrom } from "../../../domain/check-values.js";
import { checkFields } from "../../../domain/known-fields.js";
import { pageOf } from "./page-of.js";
import type { ResultKey, ResultPage, ResultStore } from "./result-store.js";

/** How much is kept; beyond it the results that were used least recently go. */
export type InMemoryResultStoreOptions = {
  /** UTF-16 units of all results together; default 64 Mi. */
  readonly maxLength?: number | undefined;
};

/** Keeps results as long as the process and as there is room. */
export class InMemoryResultStore implements ResultStore {
  readonly #maxLength: number;
  /** In the order of use, the least recent first. */
  readonly #texts = new Map<string, string>();
  #length = 0;

  constructor(options: InMemoryResultStoreOptions = {}) {
    checkFields("InMemoryResultStore", options, ["maxLength"]);
    checkValues("InMemoryResultStore", options, { maxLength: numberFrom(1) });
    const { maxLength = 64 * 1024 * 1024 } = options;
    this.#maxLength = maxLength;
  }

  write(key: ResultKey, text: string): void {
    const name = nameOf(key);
    this.#drop(name);
    this.#texts.set(name, text);
    this.#length += text.length;
    for (const oldest of this.#texts.keys()) {
      if (this.#length <= this.#maxLength) break;
      this.#drop(oldest);
    }
  }

  read(key: ResultKey, range: { readonly offset: number; readonly limit: number }): ResultPage | undefined {
    const name = nameOf(key);
    const text = this.#texts.get(name);
    if (text === undefined) return undefined;
    this.#texts.delete(name);
    this.#texts.set(name, text);
    return pageOf(text, range);
  }

  #drop(name: string): void {
    this.#length -= this.#texts.get(name)?.length ?? 0;
    this.#texts.delete(name);
  }
}

/** As JSON, so that the border between the two counts. */
function nameOf({ sessionId, id }: ResultKey): string {
  return JSON.stringify([sessionId, id]);
}
