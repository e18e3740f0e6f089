import { isPlain, type MutableJson } from "./json.js";
import { safeLabel } from "./safe-label.js";

/** How deep and how large a value from outside may be (levels, objects and arrays, elements of arrays, UTF-16 units); beyond it `adopt` throws. */
const ADOPT_LIMITS = Object.freeze({ depth: 256, nodes: 1_000_000, elements: 32_000_000, text: 128 * 1024 * 1024 });

/** Returns its argument from the constructor, so that a subclass can add a private field to any object. */
const Returned = class {
  constructor(value: object) {
    return value;
  }
};

class Stamp extends Returned {
  readonly #adopted = true;

  static has(value: object): boolean {
    return #adopted in value && value.#adopted;
  }
}

type Walk = {
  nodes: number;
  elements: number;
  text: number;
  readonly freeze: boolean;
  readonly place: string;
  readonly path: (string | number)[];
};

/**
 * The one way data from outside gets in: a deep-frozen copy, made once; a value that was adopted before is returned as it is. The
 * caller's object is neither frozen nor changed. Undefined fields are dropped, `toJSON` is honoured, `__proto__` is an ordinary key.
 * Throws a TypeError naming `place` and the path for cycles, functions, symbols, bigints, numbers JSON lacks, instances without fields such as
 * maps and promises, and for more than 256 levels, a million objects and arrays, 32 million elements of arrays, or 128 Mi UTF-16 units.
 */
export function adopt<T extends object>(value: T, place: string): T {
  if (Stamp.has(value)) return value;
  return copyObject(value, { nodes: 0, elements: 0, text: 0, freeze: true, place, path: [] }, 0) as T;
}

/**
 * Freezes and marks an object of our own making whose fields are adopted or frozen already: a message from adopted parts, at the cost
 * of its own fields. The object itself is changed, not copied; the caller vouches for what is in it.
 */
export function adoptOwn<T extends object>(value: T): T {
  new Stamp(value);
  return Object.freeze(value);
}

/** True for a value that `adopt` returned. */
export function isAdopted(value: object): boolean {
  return Stamp.has(value);
}

/** A deep copy of JSON that the receiver owns and may change. Throws like `adopt`. */
export function copyJson(value: unknown, place: string): MutableJson {
  return copy(value, { nodes: 0, elements: 0, text: 0, freeze: false, place, path: [] }, 0) as MutableJson;
}

function copy(value: unknown, walk: Walk, depth: number): unknown {
  switch (typeof value) {
    case "string":
      walk.text += value.length;
      if (walk.text > ADOPT_LIMITS.text) throw fault(walk, depth, "holds more text than is allowed");
      return value;
    case "boolean":
      return value;
    case "number":
      if (!Number.isFinite(value)) throw fault(walk, depth, "is a number that JSON cannot hold");
      return value;
    case "object":
      return value === null ? null : copyObject(value, walk, depth);
    default:
      throw fault(walk, depth, `is a ${typeof value}, which JSON cannot hold`);
  }
}

/** `toJSON` is asked once: what it gave stands for itself. */
function copyObject(value: object, walk: Walk, depth: number, given = false): unknown {
  walk.nodes += 1;
  if (depth > ADOPT_LIMITS.depth) throw fault(walk, depth, "is nested too deep, or in a cycle");
  if (walk.nodes > ADOPT_LIMITS.nodes) throw fault(walk, depth, "holds more values than is allowed");
  if (Array.isArray(value)) return copyArray(value, walk, depth);
  const toJson: unknown = !given && "toJSON" in value ? value.toJSON : undefined;
  if (typeof toJson === "function") return copyGiven(toJson.call(value, ""), walk, depth);
  const out: Record<string, unknown> = {};
  const keys = Object.keys(value);
  if (keys.length === 0 && !isPlain(value)) throw fault(walk, depth, `is ${kindOf(value)}`);
  for (const key of keys) {
    const field = (value as Record<string, unknown>)[key];
    if (field === undefined) continue;
    walk.path[depth] = key;
    setOwn(out, key, copy(field, walk, depth + 1));
  }
  return seal(out, walk, depth);
}

function copyGiven(given: unknown, walk: Walk, depth: number): unknown {
  return typeof given === "object" && given !== null
    ? copyObject(given, walk, depth, true)
    : copy(given, walk, depth + 1);
}

function kindOf(value: object): string {
  const tag = Object.prototype.toString.call(value).slice(8, -1);
  return `an instance without fields${tag === "Object" ? "" : ` (${safeLabel(tag)})`}, which JSON cannot hold`;
}

function copyArray(value: readonly unknown[], walk: Walk, depth: number): unknown {
  // Before there is room for them: holes cost whoever made them nothing.
  walk.elements += value.length;
  if (walk.elements > ADOPT_LIMITS.elements) throw fault(walk, depth, "holds more values than is allowed");
  // What is pushed to grows beyond its need, and these lists are kept as long as their session.
  const out = new Array<unknown>(value.length);
  for (let i = 0; i < value.length; i++) {
    const item = value[i];
    walk.path[depth] = i;
    out[i] = item === undefined ? null : copy(item, walk, depth + 1);
  }
  return seal(out, walk, depth);
}

/** Sets an own field, also one named `__proto__`. */
export function setOwn(target: Record<string, unknown>, key: string, value: unknown): void {
  if (key !== "__proto__") target[key] = value;
  else Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true });
}

function seal(out: object, walk: Walk, depth: number): object {
  if (!walk.freeze) return out;
  // Stamped before it is frozen: engines may refuse private fields on frozen objects.
  if (depth === 0) new Stamp(out);
  return Object.freeze(out);
}

function fault(walk: Walk, depth: number, what: string): TypeError {
  const path = walk.path
    .slice(0, Math.min(depth, 8))
    .map((key) => (typeof key === "number" ? `[${key}]` : `.${safeLabel(key)}`));
  return new TypeError(`${walk.place}${path.join("")}${depth > 8 ? "..." : ""} ${what}`);
}
