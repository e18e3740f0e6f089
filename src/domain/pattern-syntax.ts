/** A regular expression as a tree. What one character may be is a test of its code. */
export type PatternNode =
  | { readonly type: "char"; readonly test: (code: number) => boolean }
  | { readonly type: "assert"; readonly at: "start" | "end" | "word" | "no-word" }
  | { readonly type: "all"; readonly nodes: readonly PatternNode[] }
  | { readonly type: "any"; readonly nodes: readonly PatternNode[] }
  | {
      readonly type: "repeat";
      readonly node: PatternNode;
      readonly min: number;
      readonly max: number;
      readonly lazy: boolean;
    };

const MAX_DEPTH = 200;

/** Reads what `RegExp` accepts, without what cannot be matched in linear time. Throws a TypeError that says what that is. */
export function parsePattern(source: string, flags: string): PatternNode {
  if (/[yv]/.test(flags)) throw unsupported("the flags y and v");
  const reader = new PatternReader(source, flags);
  const node = reader.alternatives(0);
  if (!reader.done) throw unsupported("an unmatched )");
  return node;
}

function unsupported(what: string): TypeError {
  return new TypeError(`a pattern that is matched in linear time has no ${what.replace(/^an? |^the /, "")}`);
}

class PatternReader {
  readonly #source: string;
  readonly #unicode: boolean;
  /** Flags that change what one character may be. */
  readonly #flags: string;
  #at = 0;

  constructor(source: string, flags: string) {
    this.#source = source;
    this.#unicode = flags.includes("u");
    this.#flags = flags.replace(/[^isu]/g, "");
  }

  get done(): boolean {
    return this.#at === this.#source.length;
  }

  alternatives(depth: number): PatternNode {
    if (depth > MAX_DEPTH) throw unsupported(`more than ${MAX_DEPTH} groups inside one another`);
    const nodes = [this.#sequence(depth)];
    while (this.#take("|")) nodes.push(this.#sequence(depth));
    return nodes.length === 1 ? (nodes[0] as PatternNode) : { type: "any", nodes };
  }

  #sequence(depth: number): PatternNode {
    const nodes: PatternNode[] = [];
    while (!this.done && !this.#sees("|") && !this.#sees(")")) nodes.push(this.#quantified(this.#term(depth)));
    return { type: "all", nodes };
  }

  #term(depth: number): PatternNode {
    if (this.#take("^")) return { type: "assert", at: "start" };
    if (this.#take("$")) return { type: "assert", at: "end" };
    if (this.#take("\\b")) return { type: "assert", at: "word" };
    if (this.#take("\\B")) return { type: "assert", at: "no-word" };
    if (this.#take("(")) return this.#group(depth);
    return { type: "char", test: characterTest(this.#character(), this.#flags) };
  }

  #group(depth: number): PatternNode {
    if (this.#take("?")) {
      const named = /^<[^=!][^>]*>/.exec(this.#source.slice(this.#at, this.#at + 200));
      if (named !== null) this.#at += named[0].length;
      else if (!this.#take(":")) throw unsupported("lookaround, and no flags inside groups");
    }
    const node = this.alternatives(depth + 1);
    if (!this.#take(")")) throw unsupported("an open group");
    return node;
  }

  /** The source of one character: a class, an escape, or itself. */
  #character(): string {
    const start = this.#at;
    if (this.#take("[")) return this.#class(start);
    if (!this.#take("\\")) {
      this.#at += this.#unicode && (this.#source.codePointAt(start) ?? 0) > 0xffff ? 2 : 1;
      return this.#source.slice(start, this.#at);
    }
    const rest = this.#source.slice(start, start + 64);
    if (/^\\(?:[1-9]|k<)/.test(rest)) throw unsupported("back references");
    const forms = this.#unicode ? UNICODE_ESCAPE : ESCAPE;
    this.#at = start + (forms.exec(rest)?.[0].length ?? 2);
    return this.#source.slice(start, this.#at);
  }

  #class(start: number): string {
    while (!this.done && !this.#sees("]")) this.#at += this.#sees("\\") ? 2 : 1;
    this.#at += 1;
    return this.#source.slice(start, this.#at);
  }

  #quantified(node: PatternNode): PatternNode {
    const found = /^(?:[*+?]|\{\d+(?:,\d*)?\})/.exec(this.#source.slice(this.#at, this.#at + 40))?.[0];
    if (found === undefined) return node;
    this.#at += found.length;
    const [min, max] = boundsOf(found);
    return { type: "repeat", node, min, max, lazy: this.#take("?") };
  }

  #sees(text: string): boolean {
    return this.#source.startsWith(text, this.#at);
  }

  #take(text: string): boolean {
    if (!this.#sees(text)) return false;
    this.#at += text.length;
    return true;
  }
}

const ESCAPE = /^\\(?:x[\da-fA-F]{2}|u[\da-fA-F]{4}|c[A-Za-z]|[^])/;
const UNICODE_ESCAPE =
  /^\\(?:x[\da-fA-F]{2}|u\{[\da-fA-F]+\}|u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|u[\da-fA-F]{4}|c[A-Za-z]|[pP]\{[^}]*\}|[^])/;

function boundsOf(quantifier: string): readonly [number, number] {
  if (quantifier === "*") return [0, Number.POSITIVE_INFINITY];
  if (quantifier === "+") return [1, Number.POSITIVE_INFINITY];
  if (quantifier === "?") return [0, 1];
  const [min = "0", max] = quantifier.slice(1, -1).split(",");
  if (max === undefined) return [Number(min), Number(min)];
  return [Number(min), max === "" ? Number.POSITIVE_INFINITY : Number(max)];
}

/** Asks the engine about one character at a time, which cannot backtrack; what is ASCII is asked once. */
function characterTest(source: string, flags: string): (code: number) => boolean {
  const plain = source.codePointAt(0);
  if (source.length === 1 && source !== "." && !flags.includes("i")) return (code) => code === plain;
  const expression = new RegExp(`^(?:${source})$`, flags);
  const ascii = Array.from({ length: 128 }, (_, code) => expression.test(String.fromCharCode(code)));
  return (code) => ascii[code] ?? expression.test(String.fromCodePoint(code));
}
