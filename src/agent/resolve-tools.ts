import { AgentError } from "../domain/errors.js";
import type { ToolListReason } from "../domain/stage.js";
import type { ToolDef } from "../domain/tool.js";
import type { Turn } from "../domain/turn.js";
import type { SecondaryFailure } from "../ports/agent-config.js";
import type { ToolProvider } from "../ports/tool-provider.js";
import { type Ended, endedBy, withEnded } from "./ended-by-hook.js";
import { isCollision, ListFailure, listingsOf, listTools, withDefs } from "./tool-table.js";
import type { TurnRun } from "./turn-run.js";

/** Lists the tools, lets hooks choose, and publishes what the turn has. */
export async function resolveTools(run: TurnRun, turn: Turn, reason: ToolListReason): Promise<Turn> {
  if (turn.endings.failed !== undefined || turn.endings.hookAborted !== undefined || run.signal.aborted) return turn;
  const { lister, providers } = run.wiring;
  if (run.stages.has("beforeTools")) await run.stages.forward({ kind: "beforeTools", reason });
  run.toolsVersion = lister.version;
  const outcome = await run.scope.step(`tools#${run.round}`, () => run.within(() => listed(run, providers)));
  if (!outcome.ok) throw listFailure(outcome.error);
  run.table = lister.table(listingsOf(providers, outcome.value));
  const ended = run.stages.has("chooseTools") ? await chooseTools(run, reason) : undefined;
  run.shown = run.table;
  run.bus.publish("toolsResolved", { tools: [...run.table.defs] });
  return ended === undefined ? turn : withEnded(turn, ended);
}

/** What the providers list, each within `storeTimeoutMs`: one that is away fails or is left out, and hangs nothing. */
function listed(run: TurnRun, providers: readonly ToolProvider[]): Promise<(readonly ToolDef[] | null)[]> {
  const { signal, sessionId, turnId, scope } = run;
  const { storeTimeoutMs } = run.wiring.settings.limits;
  const secondary = (failure: SecondaryFailure): void => {
    if (!signal.aborted) run.secondary(failure);
  };
  return listTools(providers, { signal, sessionId, turnId }, secondary, (listing) =>
    scope.bounded(listing, storeTimeoutMs),
  );
}

function listFailure(error: unknown): unknown {
  if (isCollision(error)) return error;
  const text = error instanceof ListFailure ? error.message : "the tools could not be listed";
  return new AgentError("runtime", text, { cause: error });
}

async function chooseTools(run: TurnRun, reason: ToolListReason): Promise<Ended | undefined> {
  const passed = await run.stages.forward({ kind: "chooseTools", reason, tools: run.table.defs });
  if (passed.stage.tools !== run.table.defs) run.table = withDefs(run.table, passed.stage.tools);
  return endedBy(passed);
}
