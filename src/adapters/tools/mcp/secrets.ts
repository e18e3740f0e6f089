/** Shorter ones are too common in other words to be told from them. */
const SHORTEST = 6;

/** Text without the values of an environment, of headers and of tokens, wherever they came from. */
export class Secrets {
  readonly #values: Set<string>;

  constructor(values: Iterable<string>) {
    this.#values = new Set();
    for (const value of values) this.add(value);
  }

  /** Takes a value with and without a scheme such as `Bearer` in front. */
  add(value: string): void {
    for (const form of [value, value.replace(/^\S+ /, "")]) {
      for (const secret of [form, encodeURIComponent(form.toWellFormed()), JSON.stringify(form).slice(1, -1)]) {
        if (secret.length >= SHORTEST) this.#values.add(secret);
      }
    }
  }

  hide(text: string): string {
    let hidden = text;
    for (const secret of [...this.#values].sort((a, b) => b.length - a.length)) {
      hidden = hidden.replaceAll(secret, "[secret]");
    }
    return hidden;
  }
}
