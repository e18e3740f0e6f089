import type { JsonObject } from "../../../src/domain/json.js";
import type { StageContext } from "../../../src/ports/hook.js";
import { testStageContext as plainContext } from "../../../src/testkit/index.js";

/** A frozen context outside an agent; `emitted` and `steps` record what hooks did through it. */
export type TestStageContext = StageContext & { readonly emitted: JsonObject[]; readonly steps: string[] };

export function testStageContext(overrides: Partial<StageContext> = {}): TestStageContext {
  const emitted: JsonObject[] = [];
  const steps: string[] = [];
  const context = plainContext({
    step: (name, run) => {
      steps.push(name);
      return run();
    },
    emit: (label, data) => void emitted.push({ label, ...data }),
    ...overrides,
  });
  return Object.freeze({ ...context, emitted, steps });
}
