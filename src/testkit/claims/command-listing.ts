import type { CommandDef } from "../../domain/command.js";
import { decodeCommandDef } from "../../domain/command-def.js";
import type { CommandPort } from "../../ports/command.js";
import type { CommandPortClaim } from "./command-fixture.js";
import { invoke } from "./command-fixture.js";
import { expectEqual, expectThat } from "./expectations.js";

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
    title: "what a caller does to the list changes no later one",
    check({ commands }) {
      const given = commands.commands() as CommandDef[];
      const expected = [...given];
      try {
        given.reverse().splice(0, 1);
      } catch (error) {
        // A frozen list is as good as a fresh one.
        if (!(error instanceof TypeError)) throw error;
      }
      const names = commands.commands().map(({ id }) => id);
      expectEqual([...names].sort(), expected.map(({ id }) => id).sort(), "the list after somebody changed one");
    },
  },
];

function list(commands: CommandPort): readonly CommandDef[] {
  const defs: unknown = commands.commands();
  expectThat(Array.isArray(defs), "commands() returns a list");
  return defs as readonly CommandDef[];
}
