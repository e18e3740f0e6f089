import type { Capabilities, ClaimTable, Fixture } from "ennead/testkit";
import { CompositionError } from "../../domain/errors.js";
import { checkFields } from "../../domain/known-fields.js";
import { safeLabel } from "../../domain/safe-label.js";
import type { Subject } from "./check-message.js";

type Tables = Readonly<Record<string, ClaimTable>>;

/** An export with the table of its port. `make` gives what the module's own gives. */
export type Checked = Subject & {
  readonly table: ClaimTable;
  readonly make: () => unknown;
  readonly capabilities: Capabilities<string>;
};

/**
 * What a module exports for a check: by the name of its port, or with `port`, `{ make, capabilities }` or `make` alone. Throws
 * `CompositionError("invalid-config")` for a module without any, and for an export that is meant so and misspelt.
 */
export function subjectsOf(module: object, tables: Tables): readonly Checked[] {
  const found = exportsOf(module).flatMap(([name, value]) => subjectOf(name, value, tables) ?? []);
  if (found.length > 0) return found;
  const names = exportsOf(module).map(([name]) => safeLabel(name));
  const seen = names.length === 0 ? "it exports nothing" : `it exports ${names.slice(0, 20).join(", ")}`;
  const wanted = `${Object.keys(tables).join(", ")}, or { port, make } under any name`;
  throw wrong(`the module exports nothing to check: ${seen}; wanted is { make, capabilities } named ${wanted}`);
}

/** What Node or a compiler adds to a CommonJS module. */
const UNNAMED = ["default", "module.exports", "__esModule"];

/** A CommonJS module may have its exports only in `default`; one that was compiled has its own default in there. */
function exportsOf(module: object): readonly (readonly [string, unknown])[] {
  const named = (Object.entries(module) as [string, unknown][]).filter(([name]) => !UNNAMED.includes(name));
  const whole: unknown = Reflect.get(module, "default");
  if (isRecord(whole) && whole["__esModule"] === true && whole !== module) return exportsOf(whole);
  if (named.length === 0 && isRecord(whole) && !isMeant(whole)) return Object.entries(whole);
  // What is exported under a name is often the default as well.
  const again = whole === undefined || named.some(([, value]) => value === whole);
  return again ? named : [["default", whole], ...named];
}

function subjectOf(name: string, value: unknown, tables: Tables): Checked | undefined {
  const known = Object.hasOwn(tables, name);
  if (typeof value === "function" && known) return subjectOf(name, { make: value }, tables);
  if (!isRecord(value) || !(known || isMeant(value))) return undefined;
  const label = safeLabel(name);
  if (!isMeant(value) && known && typeof value[tables[name]?.method ?? ""] === "function")
    throw wrong(`${label} is an adapter; wanted is { make }, a function that gives a new one for each claim`);
  checkFields(label, value, ["port", "make", "capabilities"]);
  const { port = name, make, capabilities = {} } = value;
  const table = typeof port === "string" ? tableOf(port, tables) : undefined;
  if (table === undefined) {
    const wanted = Object.keys(tables).join(", ");
    throw wrong(`${label} has the port ${safeLabel(String(port))}, which is none of ${wanted}`);
  }
  if (typeof make !== "function") throw wrong(`${label}.make is a function that gives an adapter or a fixture`);
  if (!isRecord(capabilities)) throw wrong(`${label}.capabilities is an object`);
  return {
    name,
    port: table[0],
    table: table[1],
    make: () => Reflect.apply(make, value, []) as unknown,
    capabilities: capabilities as Checked["capabilities"],
  };
}

/** `session-store` is `sessionStore` as well. */
function tableOf(port: string, tables: Tables): readonly [string, ClaimTable] | undefined {
  const name = port.replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
  return Object.entries(tables).find(([key]) => key === name);
}

/** The fixture that `make` gave, or one around the adapter it gave, which is disposed of with it. */
export function fixtureOf({ name, table }: Checked, made: unknown): Fixture {
  if (!isObject(made)) throw wrong(`${safeLabel(name)}.make gave ${kindOf(made)}, neither an adapter nor a fixture`);
  if (isObject(Reflect.get(made, table.subject))) return made;
  if (typeof Reflect.get(made, table.method) !== "function") {
    const fixture = `a fixture { ${table.subject}, ... }`;
    throw wrong(`${safeLabel(name)}.make gave neither an adapter with ${table.method} nor ${fixture}`);
  }
  return { [table.subject]: made, [Symbol.asyncDispose]: () => closed(made) };
}

async function closed(adapter: Fixture & Partial<Disposable>): Promise<void> {
  if (adapter[Symbol.asyncDispose] === undefined) adapter[Symbol.dispose]?.();
  else await adapter[Symbol.asyncDispose]?.();
}

function isMeant(value: object): boolean {
  return "port" in value || "make" in value;
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return isObject(value) && !Array.isArray(value);
}

function kindOf(value: unknown): string {
  return value === null ? "null" : value === undefined ? "nothing" : `a ${typeof value}`;
}

function wrong(message: string): CompositionError {
  return new CompositionError("invalid-config", message);
}
