import { CompositionError } from "../domain/errors.js";
import { isTimeLimit } from "../domain/limits.js";
import { safeLabel } from "../domain/safe-label.js";
import { STAGE_KINDS, STAGE_PAIRS, type StageKind } from "../domain/stage.js";
import type { PipelineHook } from "../ports/hook.js";

/** A hook at one stage. `pair` is its position at the matching before stage, -1 where it has none. */
export type HookEntry = { readonly hook: PipelineHook; readonly name: string; readonly pair: number };

/** The hooks of each stage in the order they run: before stages forward, after and error stages in reverse. */
export type HookIndex = { readonly [K in StageKind]: readonly HookEntry[] };

/** Puts hooks in order (A4), drops repeats, and looks up once who takes part where. Throws `CompositionError`: `hook-order`, `duplicate-id` for two hooks of one name, `invalid-config` for a timeout that is none. */
export function indexHooks(hooks: readonly PipelineHook[]): HookIndex {
  const ordered = orderHooks([...new Set(hooks)]);
  const names = ordered.map((hook, position) => hook.name ?? `hook-${position}`);
  checkNames(names);
  checkTimes(ordered);
  const entriesOf = (kind: StageKind, before: readonly HookEntry[]): HookEntry[] =>
    ordered.flatMap((hook, position) => {
      if (hook.stages !== undefined && !hook.stages.includes(kind)) return [];
      const pair = before.findIndex((entry) => entry.hook === hook);
      return [{ hook, name: names[position] as string, pair }];
    });
  const index = {} as { [K in StageKind]: readonly HookEntry[] };
  for (const kind of STAGE_KINDS) {
    const pairedWith = STAGE_PAIRS[kind];
    index[kind] = pairedWith === undefined ? entriesOf(kind, []) : entriesOf(kind, entriesOf(pairedWith, [])).reverse();
  }
  return index;
}

/** A hook's name is part of the names of its steps: two of one name could not be told apart in a journal (L7). */
function checkNames(names: readonly string[]): void {
  const twice = names.find((name, position) => names.indexOf(name) !== position);
  if (twice !== undefined) throw new CompositionError("duplicate-id", `two hooks are named ${safeLabel(twice)}`);
}

function checkTimes(hooks: readonly PipelineHook[]): void {
  const wrong = hooks.find(({ timeoutMs }) => timeoutMs !== undefined && !isTimeLimit(timeoutMs));
  if (wrong === undefined) return;
  throw new CompositionError("invalid-config", `the timeout of ${label(wrong)} is no number above 0`);
}

/** Registration order, except where `before` and `after` say otherwise: the earliest hook that waits for nobody comes next. */
function orderHooks(hooks: readonly PipelineHook[]): readonly PipelineHook[] {
  if (hooks.every((hook) => hook.before === undefined && hook.after === undefined)) return hooks;
  const byName = new Map(hooks.flatMap((hook) => (hook.name === undefined ? [] : [[hook.name, hook] as const])));
  const waits = new Map<PipelineHook, Set<PipelineHook>>(hooks.map((hook) => [hook, new Set()]));
  const find = (name: string, asker: PipelineHook): PipelineHook => {
    const hook = byName.get(name);
    if (hook !== undefined && hook !== asker) return hook;
    throw new CompositionError(
      "hook-order",
      `${label(asker)} names ${safeLabel(name)}, which is no other hook of this agent`,
    );
  };
  for (const hook of hooks) {
    for (const name of hook.before ?? []) waits.get(find(name, hook))?.add(hook);
    for (const name of hook.after ?? []) waits.get(hook)?.add(find(name, hook));
  }
  const ordered: PipelineHook[] = [];
  const left = new Set(hooks);
  while (left.size > 0) {
    const next = [...left].find((hook) => [...(waits.get(hook) ?? [])].every((other) => !left.has(other)));
    if (next === undefined) throw new CompositionError("hook-order", `a cycle: ${[...left].map(label).join(", ")}`);
    left.delete(next);
    ordered.push(next);
  }
  return ordered;
}

function label(hook: PipelineHook): string {
  return hook.name === undefined ? "a hook without a name" : safeLabel(hook.name);
}
