import { Defect } from "../../domain/errors.js";
import { faced } from "../faced.js";
import { never, untilAborted } from "../fakes/until-aborted.js";
import { abortedError, type AnyPort, errorOf, type Fault, SYNCHRONOUS } from "./fault.js";

type Method = (...args: never[]) => unknown;

/** The methods of a port, optional ones included. */
export type MethodName<P> = { [K in keyof P]-?: NonNullable<P[K]> extends Method ? K : never }[keyof P] & string;

type ArgsOf<F> = NonNullable<F> extends (...args: infer A) => unknown ? A : never;

/**
 * One line of a plan: which calls, and what becomes of them. `when` picks calls by what they were given, `nth` one of those, counted from 1; without
 * either every call of the method is meant. A call goes by the first line that means it.
 */
export type FaultStep<P> = {
  [K in MethodName<P>]: {
    readonly on: K;
    readonly nth?: number | undefined;
    readonly when?: ((...args: ArgsOf<P[K]>) => boolean) | undefined;
    readonly does: Fault;
  };
}[MethodName<P>];

/** A fault that happened: in which call of its method, counted from 1, by which line of the plan, counted from 0. */
export type FaultRecord = {
  readonly method: string;
  readonly call: number;
  readonly step: number;
  readonly fault: Fault["kind"];
};

/** A port with faults, and what they did. */
export type Failing<P> = P & {
  /** In the order in which they happened; a snapshot at each read. */
  readonly faults: readonly FaultRecord[];
  /** Throws a `Defect` naming the first line of the plan that never came true; then does as the port's own `assertDone`, if it has one. */
  assertDone(): void;
};

type Line = {
  readonly on: string;
  readonly nth?: number | undefined;
  readonly when?: unknown;
  readonly does: Fault;
  seen: number;
  fired: number;
};

/**
 * The port, where the plan lets its calls pass. Every other member is the port's own, optional ones included, and its methods keep their
 * `this`. A line that names no method of the port, or lets a synchronous one wait, is a `Defect` at once.
 */
export function failing<P extends AnyPort>(port: P, plan: readonly FaultStep<P>[]): Failing<P> {
  const lines = (plan as readonly Omit<Line, "seen" | "fired">[]).map((step) => ({ ...step, seen: 0, fired: 0 }));
  lines.forEach((line, index) => checkLine(port, line, index));
  const records: FaultRecord[] = [];
  const calls = new Map<string, number>();
  const run = (method: string, args: readonly unknown[]): unknown => {
    const call = (calls.get(method) ?? 0) + 1;
    calls.set(method, call);
    const forward = (): unknown => Reflect.apply(Reflect.get(port, method) as () => unknown, port, args);
    const step = lineFor(lines, method, args);
    const line = lines[step];
    if (line === undefined) return forward();
    records.push(Object.freeze({ method, call, step, fault: line.does.kind }));
    return carryOut(line.does, { port, method, args, forward });
  };
  const assertDone = (): void => {
    const index = lines.findIndex(({ fired }) => fired === 0);
    if (index >= 0)
      throw new Defect(`fault_unfinished: line ${index} of the plan (${lines[index]?.on}) never came true`);
    if ("assertDone" in port && typeof port.assertDone === "function") (port.assertDone as () => void)();
  };
  const planned = new Set(lines.map(({ on }) => on));
  return faced(port, (key) => {
    if (key === "faults") return { value: [...records] };
    if (key === "assertDone") return { value: assertDone };
    return typeof key === "string" && planned.has(key)
      ? { value: (...args: unknown[]): unknown => run(key, args) }
      : undefined;
  }) as Failing<P>;
}

function checkLine(port: AnyPort, { on, nth, does }: Line, index: number): void {
  const where = `failing: line ${index} of the plan`;
  if (typeof Reflect.get(port, on) !== "function") throw new Defect(`${where}: the port has no method ${on}`);
  if (nth !== undefined && (!Number.isInteger(nth) || nth < 1)) throw new Defect(`${where}: nth counts from 1`);
  if (SYNCHRONOUS.has(on) && (does.kind === "hangs" || does.kind === "late"))
    throw new Defect(`${where}: ${on} is synchronous and cannot wait`);
}

/** Every line that means the call counts it; the first of them decides. -1 where none does. */
function lineFor(lines: readonly Line[], method: string, args: readonly unknown[]): number {
  let found = -1;
  lines.forEach((line, index) => {
    if (line.on !== method) return;
    const { when, nth } = line;
    if (typeof when === "function" && (when as (...given: readonly unknown[]) => unknown)(...args) !== true) return;
    line.seen += 1;
    if ((nth !== undefined && nth !== line.seen) || found !== -1) return;
    line.fired += 1;
    found = index;
  });
  return found;
}

type Call = {
  readonly port: AnyPort;
  readonly method: string;
  readonly args: readonly unknown[];
  readonly forward: () => unknown;
};

function carryOut(fault: Fault, { port, method, args, forward }: Call): unknown {
  switch (fault.kind) {
    case "fails": {
      const error = errorOf(fault.error, port, method);
      if (!SYNCHRONOUS.has(method)) return rejected(error);
      throw error;
    }
    case "loses-answer": {
      const error = errorOf(fault.error, port, method);
      if (!SYNCHRONOUS.has(method)) return Promise.resolve(forward()).then(() => rejected(error));
      forward();
      throw error;
    }
    case "hangs": {
      const signal = signalIn(args);
      return signal === undefined ? never : untilAborted(signal, never, () => abortedError(method, signal) as Error);
    }
    case "late": {
      const answer = attempt(forward);
      return new Promise((resolve) => void fault.runtime.after(fault.ms, () => resolve(answer)));
    }
  }
}

/** Any value may be what a port rejects with. */
function rejected(error: unknown): Promise<never> {
  return Promise.resolve().then(() => {
    throw error;
  });
}

/** The answer as a promise that nobody has to listen to. */
function attempt(forward: () => unknown): Promise<unknown> {
  const answer = new Promise((resolve) => {
    resolve(forward());
  });
  answer.catch(() => undefined);
  return answer;
}

function signalIn(args: readonly unknown[]): AbortSignal | undefined {
  for (const arg of args) {
    if (typeof arg === "object" && arg !== null && "signal" in arg && arg.signal instanceof AbortSignal)
      return arg.signal;
  }
  return undefined;
}
