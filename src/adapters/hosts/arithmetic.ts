/** Why there is no result, in words for whoever wrote the expression. */
export class ArithmeticError extends Error {}

const MAX_LENGTH = 500;
const MAX_DEPTH = 50;
const TOKEN = /\s*(?:((?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)|(\*\*|[-+*/%^()×÷−]))/y;
const SAME: Readonly<Record<string, string>> = { "**": "^", "×": "*", "÷": "/", "−": "-" };
const PRECEDENCE: Readonly<Record<string, number>> = { "+": 1, "-": 1, "*": 2, "/": 2, "%": 2, "^": 4 };
const SIGN_PRECEDENCE = 3;

/**
 * Works out numbers, `+ - * / %` (remainder), `^` (binds to the right, tighter than a sign in front) and parentheses; nothing is ever
 * run as code. Throws `ArithmeticError` for anything else, beyond 500 characters or 50 levels, and for results that are not finite.
 */
export function evaluate(expression: string): number {
  const tokens = tokenise(expression);
  const value = new Parser(tokens).whole();
  if (!Number.isFinite(value)) throw new ArithmeticError("the result is not a finite number");
  return value;
}

/** The number as a person would write it: whole numbers exactly, others with 15 digits, and `about` beyond what a double holds exactly. */
export function numberText(value: number): string {
  if (Number.isSafeInteger(value)) return String(value === 0 ? 0 : value);
  const digits = String(Number(value.toPrecision(15)));
  return Math.abs(value) > Number.MAX_SAFE_INTEGER ? `about ${digits}` : digits;
}

type Token = number | string;

function tokenise(expression: string): readonly Token[] {
  if (expression.length > MAX_LENGTH)
    throw new ArithmeticError(`the expression is longer than ${MAX_LENGTH} characters`);
  const tokens: Token[] = [];
  const text = expression.trimEnd();
  let at = 0;
  while (at < text.length) {
    TOKEN.lastIndex = at;
    const match = TOKEN.exec(text);
    if (match === null)
      throw new ArithmeticError(`only numbers, + - * / % ^ and parentheses are understood (position ${at + 1})`);
    const [, number, operator = ""] = match;
    tokens.push(number === undefined ? (SAME[operator] ?? operator) : Number(number));
    at = TOKEN.lastIndex;
  }
  return tokens;
}

class Parser {
  #at = 0;
  #depth = 0;

  constructor(readonly tokens: readonly Token[]) {}

  whole(): number {
    const value = this.#operation(0);
    if (this.#at < this.tokens.length) throw new ArithmeticError(`unexpected ${String(this.tokens[this.#at])}`);
    return value;
  }

  /** Everything that binds tighter than `floor`. */
  #operation(floor: number): number {
    this.#depth += 1;
    if (this.#depth > MAX_DEPTH)
      throw new ArithmeticError(`the expression is nested more than ${MAX_DEPTH} levels deep`);
    let left = this.#operand();
    for (;;) {
      const operator = this.tokens[this.#at];
      const precedence = typeof operator === "string" ? PRECEDENCE[operator] : undefined;
      if (typeof operator !== "string" || precedence === undefined || precedence <= floor) break;
      this.#at += 1;
      left = apply(operator, left, this.#operation(operator === "^" ? precedence - 1 : precedence));
    }
    this.#depth -= 1;
    return left;
  }

  #operand(): number {
    const token = this.tokens[this.#at];
    this.#at += 1;
    if (typeof token === "number") return token;
    if (token === "-") return -this.#operation(SIGN_PRECEDENCE);
    if (token === "+") return this.#operation(SIGN_PRECEDENCE);
    if (token !== "(")
      throw new ArithmeticError(token === undefined ? "the expression ends too early" : `unexpected ${token}`);
    const value = this.#operation(0);
    if (this.tokens[this.#at] !== ")") throw new ArithmeticError("a parenthesis is not closed");
    this.#at += 1;
    return value;
  }
}

function apply(operator: string, left: number, right: number): number {
  switch (operator) {
    case "+":
      return left + right;
    case "-":
      return left - right;
    case "*":
      return left * right;
    case "/":
      return left / right;
    case "%":
      return left % right;
    default:
      return left ** right;
  }
}
