import { AgentError, Defect, errorCategory } from "../domain/errors.js";
import type { Wiring } from "./wiring.js";

/** Hears of changed tools until `unwatchTools`. Throws `AgentError("runtime")` for a provider that does not let it. */
export function watchTools({ lister, providers }: Wiring): void {
  try {
    lister.watch(providers);
  } catch (error) {
    throw Defect.is(error) ? error : new AgentError("runtime", "could not listen for changed tools", { cause: error });
  }
}

/** A provider that throws here is a secondary failure. */
export function unwatchTools({ lister, settings }: Wiring): void {
  for (const error of lister.close()) {
    const where = { stage: "tools", operation: "stop listening" };
    settings.onSecondaryFailure({ ...where, errorCategory: errorCategory(error) });
  }
}
