import { Defect } from "../../domain/errors.js";

/** A fake was asked once more than its script has steps. A `Defect`, so that no port's caller turns it into an outcome. */
export class ScriptExhausted extends Defect {
  override readonly name = "ScriptExhausted";

  /** `fake` is in snake case; `call` counts from 1, those of `target` where a fake has several scripts. */
  constructor(fake: string, call: number, steps: number, target?: string) {
    const which = target === undefined ? "" : ` of ${target}`;
    super(`${fake}_exhausted at call ${call}${which} (script had ${steps} steps)`);
  }
}
