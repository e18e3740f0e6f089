import type { Json, JsonObject } from "../../../domain/json.js";

/**
 * The values a JSON Schema that is known to the compiler accepts. Local references into `$defs` are followed; what types cannot say
 * (bounds, patterns, `not`, conditions) is not in it, and what is not known is `Json`.
 */
export type JsonSchemaValue<S> = ValueOf<S, S>;

/** The same for a tool's arguments: an object, whatever the schema leaves open. A property with a default is always there. */
export type JsonSchemaArguments<S> = ValueOf<S, S> extends infer V ? (Json extends V ? JsonObject : V) : never;

type ValueOf<S, Root> = S extends false
  ? never
  : S extends { readonly const: infer C }
    ? C
    : S extends { readonly enum: readonly (infer E)[] }
      ? E
      : S extends { readonly $ref: infer R }
        ? ReferredValue<R, Root>
        : S extends { readonly anyOf: readonly (infer B)[] }
          ? BranchValue<B, Root>
          : S extends { readonly oneOf: readonly (infer B)[] }
            ? BranchValue<B, Root>
            : S extends { readonly allOf: infer L extends readonly unknown[] }
              ? AllOf<L, Root>
              : S extends { readonly type: infer T }
                ? TypedValue<T, S, Root>
                : Json;

/** Distributes over the branches of a union. */
type BranchValue<B, Root> = B extends unknown ? ValueOf<B, Root> : never;

type AllOf<L extends readonly unknown[], Root> = L extends readonly [infer First, ...infer Rest]
  ? ValueOf<First, Root> & AllOf<Rest, Root>
  : unknown;

type ReferredValue<R, Root> = R extends "#"
  ? ValueOf<Root, Root>
  : R extends `#/$defs/${infer Name}`
    ? Root extends { readonly $defs: { readonly [N in Name]: infer D } }
      ? ValueOf<D, Root>
      : Json
    : Json;

type TypedValue<T, S, Root> = T extends readonly (infer One)[] ? OneTyped<One, S, Root> : OneTyped<T, S, Root>;

type OneTyped<T, S, Root> = T extends "string"
  ? string
  : T extends "number" | "integer"
    ? number
    : T extends "boolean"
      ? boolean
      : T extends "null"
        ? null
        : T extends "array"
          ? ArrayValue<S, Root>
          : T extends "object"
            ? ObjectValue<S, Root>
            : Json;

type ArrayValue<S, Root> = S extends { readonly prefixItems: infer L extends readonly unknown[] }
  ? S extends { readonly items: infer I }
    ? I extends false
      ? TupleValue<L, Root>
      : readonly [...TupleValue<L, Root>, ...ValueOf<I, Root>[]]
    : readonly [...TupleValue<L, Root>, ...Json[]]
  : S extends { readonly items: infer I }
    ? readonly ValueOf<I, Root>[]
    : readonly Json[];

/** As the validator has it: fewer items are fine unless `minItems` says otherwise, so each may be missing. */
type TupleValue<L extends readonly unknown[], Root> = { readonly [I in keyof L]?: ValueOf<L[I], Root> };

type ObjectValue<S, Root> = S extends { readonly properties: infer P }
  ? Flat<
      { readonly [K in keyof P as K extends AlwaysThere<S, P> ? K : never]: ValueOf<P[K], Root> } & {
        readonly [K in keyof P as K extends AlwaysThere<S, P> ? never : K]?: ValueOf<P[K], Root>;
      }
    >
  : S extends { readonly additionalProperties: infer A }
    ? A extends false
      ? { readonly [key: string]: never }
      : { readonly [key: string]: ValueOf<A, Root> }
    : JsonObject;

type AlwaysThere<S, P> =
  | (S extends { readonly required: readonly (infer R)[] } ? R : never)
  | { [K in keyof P]: P[K] extends { readonly default: unknown } ? K : never }[keyof P];

type Flat<T> = { readonly [K in keyof T]: T[K] };
