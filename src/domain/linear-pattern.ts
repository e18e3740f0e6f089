import { type PatternNode, parsePattern } from "./pattern-syntax.js";
import { unreachable } from "./unreachable.js";

/** Where a pattern matched, in UTF-16 units. */
export type PatternMatch = { readonly start: number; readonly end: number };

/** Steps left for matching; a pattern takes from it, and throws a RangeError when it is used up. */
export type PatternBudget = { left: number };

type Instruction =
  | { readonly op: "char"; readonly test: (code: number) => boolean }
  | { readonly op: "assert"; readonly at: "start" | "end" | "word" | "no-word" }
  | { readonly op: "split"; first: number; second: number }
  | { readonly op: "match" };

const MAX_INSTRUCTIONS = 10_000;
/** Enough for 256 KiB of text and an ordinary pattern, and done in a second. */
const DEFAULT_STEPS = 30_000_000;
/** What all matches of a text may take together. */
const LEAST_STEPS = 100_000;
const PASSES = 16;

/**
 * A regular expression that never backtracks: time grows with the text times the pattern, whatever both hold. It finds what `RegExp` finds (the
 * leftmost match, greedy or lazy as written). Look-around, back references, the flags `y` and `v`, and repetitions that expand beyond 10,000
 * steps are refused with a TypeError, what is no regular expression with a SyntaxError.
 */
export class LinearPattern {
  readonly #program: Instruction[] = [];
  readonly #unicode: boolean;
  readonly #multiline: boolean;

  constructor(source: string, flags = "") {
    // The engine knows best what is none.
    new RegExp(source, flags);
    this.#unicode = flags.includes("u");
    this.#multiline = flags.includes("m");
    this.#compile(parsePattern(source, flags.replace(/[gd]/g, "")));
    this.#emit({ op: "match" });
  }

  test(text: string, budget: PatternBudget = { left: DEFAULT_STEPS }): boolean {
    return this.find(text, 0, budget) !== undefined;
  }

  /** The first match at or behind `from`. */
  find(text: string, from = 0, budget: PatternBudget = { left: DEFAULT_STEPS }): PatternMatch | undefined {
    let threads = new Threads(this.#program.length);
    let next = new Threads(this.#program.length);
    let found: PatternMatch | undefined;
    for (let at = from; ; ) {
      if (found === undefined) this.#add(threads, 0, at, { text, at });
      if (threads.count === 0 && found !== undefined) return found;
      budget.left -= threads.count + 1;
      if (budget.left < 0) throw new RangeError("the text is too long for the pattern");
      const code = this.#unicode ? text.codePointAt(at) : at < text.length ? text.charCodeAt(at) : undefined;
      const width = this.#unicode && code !== undefined && code > 0xffff ? 2 : 1;
      const place = { text, at: at + width };
      for (let i = 0; i < threads.count; i++) {
        const instruction = this.#program[threads.pcs[i] as number] as Instruction;
        if (instruction.op === "match") {
          found = { start: threads.starts[i] as number, end: at };
          break;
        }
        if (instruction.op === "char" && code !== undefined && instruction.test(code))
          this.#add(next, (threads.pcs[i] as number) + 1, threads.starts[i] as number, place);
      }
      if (code === undefined) return found;
      [threads, next] = [next, threads];
      next.clear();
      at += width;
    }
  }

  /**
   * All matches that are not empty, in order. A match may look far beyond its end, and so may each of many; where that adds up to more than a
   * fixed number of passes over the text, it throws a RangeError.
   */
  findAll(text: string): readonly PatternMatch[] {
    const budget = { left: Math.min(DEFAULT_STEPS, LEAST_STEPS + text.length * this.#program.length * PASSES) };
    const matches: PatternMatch[] = [];
    for (let from = 0; from <= text.length; ) {
      const match = this.find(text, from, budget);
      if (match === undefined) break;
      if (match.end > match.start) matches.push(match);
      from = Math.max(match.end, match.start + 1);
    }
    return matches;
  }

  /** Follows what takes no character, in the order of preference. */
  #add(threads: Threads, pc: number, start: number, place: { readonly text: string; readonly at: number }): void {
    const pending = [pc];
    for (let top = pending.pop(); top !== undefined; top = pending.pop()) {
      if (!threads.enter(top)) continue;
      const instruction = this.#program[top] as Instruction;
      if (instruction.op === "split") pending.push(instruction.second, instruction.first);
      else if (instruction.op !== "assert") threads.push(top, start);
      else if (this.#holds(instruction.at, place)) pending.push(top + 1);
    }
  }

  #holds(what: "start" | "end" | "word" | "no-word", { text, at }: { text: string; at: number }): boolean {
    if (what === "start") return at === 0 || (this.#multiline && isLineEnd(text.charAt(at - 1)));
    if (what === "end") return at >= text.length || (this.#multiline && isLineEnd(text.charAt(at)));
    const boundary = isWord(text.charAt(at - 1)) !== isWord(text.charAt(at));
    return boundary === (what === "word");
  }

  #emit(instruction: Instruction): number {
    if (this.#program.length >= MAX_INSTRUCTIONS) throw new TypeError("the pattern repeats too much");
    return this.#program.push(instruction) - 1;
  }

  #compile(node: PatternNode): void {
    switch (node.type) {
      case "char":
        return void this.#emit({ op: "char", test: node.test });
      case "assert":
        return void this.#emit({ op: "assert", at: node.at });
      case "all":
        return node.nodes.forEach((part) => this.#compile(part));
      case "any":
        return this.#compileAny(node.nodes);
      case "repeat":
        return this.#compileRepeat(node);
      default:
        return unreachable(node);
    }
  }

  #compileAny([first, ...others]: readonly PatternNode[]): void {
    if (first === undefined) return;
    if (others.length === 0) return this.#compile(first);
    this.#optional({ lazy: false, otherwise: () => this.#compileAny(others) }, () => this.#compile(first));
  }

  #compileRepeat({ node, min, max, lazy }: PatternNode & { readonly type: "repeat" }): void {
    for (let i = 0; i < min; i++) this.#compile(node);
    if (max === Number.POSITIVE_INFINITY) {
      const head = this.#program.length;
      this.#optional({ lazy }, () => {
        this.#compile(node);
        this.#emit({ op: "split", first: head, second: head });
      });
      return;
    }
    const rest = (left: number): void => {
      if (left > 0) this.#optional({ lazy }, () => (this.#compile(node), rest(left - 1)));
    };
    rest(Math.min(max - min, MAX_INSTRUCTIONS));
  }

  /** `body` or nothing, or `body` or `otherwise`. */
  #optional({ lazy, otherwise }: { readonly lazy: boolean; otherwise?: () => void }, body: () => void): void {
    const split: Instruction = { op: "split", first: 0, second: 0 };
    const inside = this.#emit(split) + 1;
    body();
    const jump: Instruction | undefined = otherwise && { op: "split", first: 0, second: 0 };
    if (jump !== undefined) this.#emit(jump);
    const outside = this.#program.length;
    split.first = lazy ? outside : inside;
    split.second = lazy ? inside : outside;
    otherwise?.();
    if (jump?.op === "split") jump.first = jump.second = this.#program.length;
  }
}

/** The places in a program that one text position has reached, the preferred ones first. */
class Threads {
  count = 0;
  readonly pcs: Int32Array;
  readonly starts: Float64Array;
  readonly #entered: Uint32Array;
  #generation = 1;

  constructor(size: number) {
    this.pcs = new Int32Array(size);
    this.starts = new Float64Array(size);
    this.#entered = new Uint32Array(size);
  }

  enter(pc: number): boolean {
    if (this.#entered[pc] === this.#generation) return false;
    this.#entered[pc] = this.#generation;
    return true;
  }

  push(pc: number, start: number): void {
    this.pcs[this.count] = pc;
    this.starts[this.count] = start;
    this.count += 1;
  }

  clear(): void {
    this.count = 0;
    this.#generation += 1;
  }
}

function isLineEnd(unit: string): boolean {
  return unit === "\n" || unit === "\r" || unit === "\u2028" || unit === "\u2029";
}

function isWord(unit: string): boolean {
  return unit !== "" && /\w/.test(unit);
}
