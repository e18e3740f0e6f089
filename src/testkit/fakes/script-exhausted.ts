import { Defect } from "../../domain/errors.js";

/** A fake was asked once more than its script has steps. A `Defect`, so that no port's caller turns it into an outcome. */
export class ScriptExhausted extends Defect {
  override readonly name = "ScriptExhausted";

  /** `fake` is in snake case; `call` counts from 1. */
  constructor(fake: string, call: number, steps: number) {
    super(`${fake}_exhausted at call ${call} (script had ${steps} steps)`);
  }
}
