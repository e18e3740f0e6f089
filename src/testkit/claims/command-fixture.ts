import type { CommandArgs, CommandOutcome } from "../../domain/command.js";
import type { AgentApi } from "../../ports/agent-api.js";
import type { CommandContext, CommandPort } from "../../ports/command.js";
import type { Claim, Fixture } from "./claim.js";
import { ClaimFailure } from "./expectations.js";

/** A command to call; each time with a copy of the arguments of its own. */
export type SampleInvocation = {
  readonly id: string;
  readonly args?: CommandArgs | undefined;
  readonly sessionId?: string | undefined;
};

/** Commands with what the claims need to know of them. */
export type CommandPortFixture = Fixture & {
  readonly commands: CommandPort;
  /** Calls that end in this type of outcome, the very same each time, also at once. Needed for `commands`. */
  readonly invocations?: readonly (SampleInvocation & { readonly outcome: CommandOutcome["type"] })[] | undefined;
  /** Runs until its signal fires; needed for `abort`. */
  readonly slow?: SampleInvocation | undefined;
  /** Fails for a reason that no user can mend; needed for `failure`. */
  readonly failing?: SampleInvocation | undefined;
  /** Has arguments that its definition refuses; needed for `validation`. */
  readonly invalid?: SampleInvocation | undefined;
  /** The agent the commands act on, such as that of `testAgent`; without one, a command that asks its agent for anything fails. */
  readonly agent?: AgentApi | undefined;
  /** How soon after an abort a call must have settled; default 1000. */
  readonly deadlineMs?: number | undefined;
};

/** `commands`: there are any. `validation`: the port checks arguments itself, as an agent does before it. `abort`, `failure`: a command can be kept waiting, can fail. */
export type CommandPortCapability = "commands" | "abort" | "failure" | "validation";

/** A claim of `commandPortClaims`. */
export type CommandPortClaim = Claim<CommandPortFixture, CommandPortCapability>;

/** Calls a command as an agent would; a synchronous throw becomes a rejection. */
export async function invoke(
  fixture: CommandPortFixture,
  { id, args = {}, sessionId }: SampleInvocation,
  context: Partial<CommandContext> = {},
): Promise<CommandOutcome> {
  const { signal } = new AbortController();
  const { agent = NO_AGENT } = fixture;
  return await fixture.commands.invoke(id, structuredClone(args), { sessionId, signal, agent, ...context });
}

/** The sample calls; a fixture that lacks them without saying so fails the claim. */
export function invocationsOf({
  invocations = [],
}: CommandPortFixture): NonNullable<CommandPortFixture["invocations"]> {
  if (invocations.length > 0) return invocations;
  throw new ClaimFailure("the fixture gives invocations, or the capability commands is declared missing");
}

/** The call that shows the capability; a fixture that lacks it without saying so fails the claim. */
export function sampleFor(
  fixture: CommandPortFixture,
  name: "slow" | "failing" | "invalid",
  capability: CommandPortCapability,
): SampleInvocation {
  const sample = fixture[name];
  if (sample !== undefined) return sample;
  throw new ClaimFailure(`the fixture gives ${name}, or the capability ${capability} is declared missing`);
}

const NO_AGENT: AgentApi = new Proxy({} as AgentApi, {
  get() {
    throw new ClaimFailure("the command asked its agent for something, and the fixture gives none");
  },
});
