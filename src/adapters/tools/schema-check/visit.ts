import type { Json, JsonObject } from "../../../domain/json.js";
import { escapePointer, type SchemaReading } from "../../../domain/json-schema.js";
import type { ValidationIssue } from "../../../ports/tool-provider.js";
import type { PatternTests } from "./pattern-tests.js";

/** What of an object or array the schemas that hold have looked at: what `unevaluated...` leaves alone. */
export type Seen = Set<string | number>;

/** What a rule may ask of the check that it is part of. */
export type Check = {
  readonly reading: SchemaReading;
  readonly patterns: PatternTests;
  /** What an application checks of a value beyond the keywords: what it should be, where it is not. */
  more(schema: JsonObject, value: Json): string | undefined;
  /** Whether a value fits; then `seen` gets what was looked at. */
  fits(schema: unknown, value: Json, depth: number, seen?: Seen): boolean;
  /** Everything that is wrong with a value that does not fit. */
  issues(schema: unknown, value: Json, place: { readonly path: string; readonly depth: number }): ValidationIssue[];
};

/** One value that schemas are applied to, and what is wrong with it so far. */
export class Visit {
  readonly value: Json;
  readonly path: string;
  readonly depth: number;
  /** Only where a schema of the document asks for it. */
  readonly seen: Seen | undefined;
  readonly found: ValidationIssue[] = [];
  readonly #most: number;

  constructor(value: Json, place: { path: string; depth: number }, options: { most: number; seen: Seen | undefined }) {
    this.value = value;
    this.path = place.path;
    this.depth = place.depth;
    this.#most = options.most;
    this.seen = options.seen;
  }

  /** Nothing more is asked. */
  get isFull(): boolean {
    return this.found.length >= this.#most;
  }

  /** Nobody reads what is said: only whether anything is. */
  get isQuick(): boolean {
    return this.#most === 1;
  }

  /** Says what the value, or a part of it, should be. Words that take work are made where somebody reads them. */
  say(expected: string | (() => string), path = this.path): void {
    if (this.isFull) return;
    this.found.push({ path, expected: typeof expected === "string" ? expected : this.isQuick ? "" : expected() });
  }

  /** Applies a schema to the same value. */
  beside(check: Check, schema: unknown): void {
    if (!check.fits(schema, this.value, this.depth + 1, this.seen)) this.#tell(check, schema, this.value, this.path);
  }

  /** Applies a schema to an item or a property. */
  inside(check: Check, schema: unknown, key: string | number, value: Json): void {
    if (check.fits(schema, value, this.depth + 1)) return;
    if (schema === false) this.say(NOTHING[typeof key === "number" ? "item" : "property"], pointer(this.path, key));
    else this.#tell(check, schema, value, pointer(this.path, key));
  }

  #tell(check: Check, schema: unknown, value: Json, path: string): void {
    if (this.isQuick) return this.say("");
    for (const issue of check.issues(schema, value, { path, depth: this.depth + 1 }))
      this.say(issue.expected, issue.path);
  }
}

const NOTHING = { item: "nothing: there is no such item", property: "nothing: there is no such property" } as const;

/** The JSON pointer to a part of what a pointer leads to. */
export function pointer(path: string, key: string | number): string {
  return `${path}/${typeof key === "number" ? key : escapePointer(key)}`;
}
