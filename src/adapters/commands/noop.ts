import type { CommandDef } from "../../domain/command.js";
import { CommandError } from "../../domain/errors.js";
import { safeLabel } from "../../domain/safe-label.js";
import type { CommandPort } from "../../ports/command.js";

/** Has no commands; every call rejects with `CommandError("not-found")`. */
export class NoopCommands implements CommandPort {
  commands(): readonly CommandDef[] {
    return [];
  }

  invoke(id: string): Promise<never> {
    return Promise.reject(new CommandError("not-found", `there is no command ${safeLabel(id)}`));
  }
}
