/** Shorter ones are too common in other words to be told from them. */
const SHORTEST = 6;
/** Shorter lines of a text with several may be no secret at all. */
const LONG_LINE = 16;
/** Of tokens that change with every request, those a server may still quote. */
const MAX_TOKENS = 64;

/** Text without the values of an environment, of headers and of tokens, wherever they came from. */
export class Secrets {
  readonly #values = new Set<string>();
  readonly #tokens = new Set<string>();

  constructor(values: Iterable<string>) {
    for (const value of values) for (const form of formsOf(value)) this.#values.add(form);
  }

  /** Takes a token that came later; of very many the latest count. */
  addToken(token: string): void {
    this.#tokens.delete(token);
    this.#tokens.add(token);
    const [oldest] = this.#tokens;
    if (this.#tokens.size > MAX_TOKENS && oldest !== undefined) this.#tokens.delete(oldest);
  }

  hide(text: string): string {
    let hidden = text;
    const secrets = [...this.#values, ...[...this.#tokens].flatMap(formsOf)];
    for (const secret of secrets.sort((a, b) => b.length - a.length)) {
      hidden = hidden.replaceAll(secret, "[secret]");
    }
    return hidden;
  }
}

/**
 * A value with and without a scheme such as `Bearer` in front, as it is and as it stands in an address or in JSON; and each line of a key that has
 * several, which may be quoted alone.
 */
function formsOf(value: string): readonly string[] {
  const lines = value.split(/\r?\n/).filter((line) => line.length >= LONG_LINE);
  return [value, value.replace(/^\S+ /, ""), ...lines]
    .flatMap((form) => [form, encodeURIComponent(form.toWellFormed()), JSON.stringify(form).slice(1, -1)])
    .filter((form) => form.length >= SHORTEST);
}
