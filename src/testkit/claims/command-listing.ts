import type { CommandDef } from "../../domain/command.js";
import { decodeCommandDef } from "../../domain/command-def.js";
import type { CommandPort } from "../../ports/command.js";
import type { CommandPortClaim } from "./command-fixture.js";
import { invoke } from "./command-fixture.js";
import { expectEqual, expectThat } from "./expectations.js";
import { spoil } from "./spoil.js";

/** How commands are listed. */
export const commandListingClaims: readonly CommandPortClaim[] = [
  {
    id: "commands-are-whole",
    title: "every definition is JSON that a command line can call and an agent takes",
    check({ commands }) {
      for (const def of list(commands)) {
        let problem: unknown;
        try {
          decodeCommandDef(def);
        } catch (error) {
          problem = error;
        }
        expectThat(problem === undefined, problem instanceof Error ? problem.message : "a definition can be decoded");
      }
    },
  },
  {
    id: "commands-have-names-of-their-own",
    title: "no id or alias stands twice",
    check({ commands }) {
      // What is no list of aliases is another claim's business.
      const names = list(commands).flatMap(({ id, aliases }) =>
        Array.isArray(aliases as unknown) ? [id, ...aliases] : [id],
      );
      expectThat(new Set(names).size === names.length, "no name stands for two commands");
    },
  },
  {
    id: "commands-stay-the-same",
    title: "the list is the same again, and after calls",
    async check(fixture) {
      const first = structuredClone(list(fixture.commands));
      expectEqual(list(fixture.commands), first, "the second list");
      for (const sample of fixture.invocations ?? []) await invoke(fixture, sample).catch(() => undefined);
      expectEqual(list(fixture.commands), first, "the list after calls");
    },
  },
  {
    id: "commands-lend-no-list",
    title: "changing a list and its definitions, or failing to, changes no later one",
    check({ commands }) {
      const byId = (): readonly CommandDef[] => list(commands).toSorted((a, b) => (a.id < b.id ? -1 : 1));
      const expected = structuredClone(byId());
      spoil(list(commands));
      expectEqual(byId(), expected, "the list after somebody changed one");
    },
  },
];

function list(commands: CommandPort): readonly CommandDef[] {
  const defs: unknown = commands.commands();
  expectThat(Array.isArray(defs), "commands() returns a list");
  return defs as readonly CommandDef[];
}
