import type { Json } from "../../domain/json.js";
import type { PipelineHook, StageContext } from "../../ports/hook.js";

/** The same context for one hook of the chain named `chain`: with step names of its own at `index`, so that two never share a record. */
export function numberedContext(context: StageContext, chain: string, hook: PipelineHook, index: number): StageContext {
  const step = <T extends Json>(name: string, run: () => Promise<T>): Promise<T> =>
    context.step(`${index}.${name}`, run);
  // An empty target, since a proxy may not show other functions than a frozen target has.
  return new Proxy({} as StageContext, {
    has: (_target, key) => key in context,
    get(_target, key): unknown {
      if (key === "step") return step;
      if (key === "deferredBy") return deferredBy(context, chain, hook);
      const value: unknown = Reflect.get(context, key, context);
      return typeof value === "function" ? (value.bind(context) as unknown) : value;
    },
  });
}

/** Which of its hooks deferred, a chain does not tell: a decision for the chain is one for each. */
function deferredBy(context: StageContext, chain: string, { name }: PipelineHook): readonly string[] | undefined {
  const names = context.deferredBy;
  return name !== undefined && names?.includes(chain) === true ? [...names, name] : names;
}
