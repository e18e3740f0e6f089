import type { Json } from "../../domain/json.js";
import type { StageContext } from "../../ports/hook.js";

/** The same context for one hook of a chain: with step names of its own at `index`, so that two never share a record. */
export function numberedContext(context: StageContext, index: number): StageContext {
  const step = <T extends Json>(name: string, run: () => Promise<T>): Promise<T> =>
    context.step(`${index}.${name}`, run);
  // An empty target, since a proxy may not show other functions than a frozen target has.
  return new Proxy({} as StageContext, {
    has: (_target, key) => key in context,
    get(_target, key): unknown {
      if (key === "step") return step;
      // The chain deferred, as far as anybody knows.
      if (key === "deferredBy") return undefined;
      const value: unknown = Reflect.get(context, key, context);
      return typeof value === "function" ? (value.bind(context) as unknown) : value;
    },
  });
}
