import type { Runtime } from "../ports/runtime.js";
import type { CallPath } from "./call-path.js";

const POOL_BYTES = 4096;
const ID_BYTES = 10;
/** What `setTimeout` takes; it runs at once what is to wait longer. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** The real clocks, random ids and timers. */
export function systemRuntime(): Runtime {
  const pool = new Uint8Array(POOL_BYTES);
  let used = POOL_BYTES;
  let last = 0;
  return {
    now: () => Date.now(),
    elapsed: () => performance.now(),
    newId() {
      if (used + ID_BYTES > POOL_BYTES) {
        globalThis.crypto.getRandomValues(pool);
        used = 0;
      }
      // Never behind an id this runtime gave before, whatever the clock does.
      last = Math.max(last, Date.now());
      const id = uuidV7(last, pool, used);
      used += ID_BYTES;
      return id;
    },
    after(ms, fn, options) {
      let timer: unknown;
      const wait = (left: number): void => {
        const rest = left - LONGEST_TIMER_MS;
        timer = rest > 0 ? setTimeout(() => wait(rest), LONGEST_TIMER_MS) : setTimeout(fn, left);
        if (options?.keepAlive !== true) unref(timer);
      };
      if (ms !== Number.POSITIVE_INFINITY) wait(ms);
      return () => clearTimeout(timer as ReturnType<typeof setTimeout>);
    },
  };
}

function unref(timer: unknown): void {
  const release: unknown = typeof timer === "object" && timer !== null ? Reflect.get(timer, "unref") : undefined;
  if (isCallable(release)) release.call(timer);
}

type Callable = (this: unknown, ...args: readonly unknown[]) => unknown;

function isCallable(value: unknown): value is Callable {
  return typeof value === "function";
}

const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

function uuidV7(time: number, pool: Uint8Array, offset: number): string {
  const stamp = time.toString(16).padStart(12, "0");
  const byte = (index: number): string => HEX[pool[offset + index] as number] as string;
  const version = HEX[0x70 | ((pool[offset] as number) & 0x0f)] as string;
  const variant = HEX[0x80 | ((pool[offset + 2] as number) & 0x3f)] as string;
  return (
    `${stamp.slice(0, 8)}-${stamp.slice(8)}-${version}${byte(1)}-${variant}${byte(3)}-` +
    `${byte(4)}${byte(5)}${byte(6)}${byte(7)}${byte(8)}${byte(9)}`
  );
}

/** Remembers, across awaits, which turn's tool is running; empty where the platform has no async context. */
export type CallContext = {
  /** The turns whose tools are on the path to the caller. */
  current(): CallPath | undefined;
  run<T>(path: CallPath, fn: () => T): T;
};

type AsyncStorage = { getStore(): unknown; run<T>(store: unknown, fn: () => T): T };
type Shared = { [CALLS]?: AsyncStorage };
type HookModule = { readonly AsyncLocalStorage: new () => AsyncStorage };

/** Changes with the form of a path, so that two copies of the package share a context only where they understand one another. */
const CALLS = Symbol.for("ennead.calls.1");

/**
 * The one context of the process, so that a turn is known to wait for another agent's turn on the same store. It belongs to the calls, not to
 * agents: none keeps anything in it (A3). Loads nothing outside Node.
 */
export function createCallContext(): CallContext {
  const process: unknown = Reflect.get(globalThis, "process");
  const load: unknown =
    typeof process === "object" && process !== null ? Reflect.get(process, "getBuiltinModule") : undefined;
  if (!isCallable(load)) return { current: () => undefined, run: (_path, fn) => fn() };
  const { AsyncLocalStorage } = load.call(process, "node:async_hooks") as HookModule;
  const shared = globalThis as Shared;
  const storage = (shared[CALLS] ??= new AsyncLocalStorage());
  return {
    current: () => storage.getStore() as CallPath | undefined,
    run: (path, fn) => storage.run(path, fn),
  };
}

/** Where secondary failures go unless the config says otherwise. */
export function emitWarning(text: string): void {
  const process: unknown = Reflect.get(globalThis, "process");
  const emit: unknown =
    typeof process === "object" && process !== null ? Reflect.get(process, "emitWarning") : undefined;
  if (isCallable(emit)) emit.call(process, text, "EnneadWarning");
  else console.warn(text);
}
