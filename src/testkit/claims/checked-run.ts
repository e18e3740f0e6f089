import { safeLabel } from "../../domain/safe-label.js";
import type { Claim, ClaimRun, Fixture } from "./claim.js";
import { type ClaimTable, claimTables } from "./claim-tables.js";

const DEFAULT_TIMEOUT_MS = 30_000;
/** Beyond it a timer fires at once. */
const LONGEST_MS = 2 ** 31 - 1;

/** Throws a `TypeError` for a run that would check something else than it says; answers the time a claim may take. */
export function checkedTimeout<F extends Fixture, C extends string>(run: ClaimRun<F, C>): number {
  const { claims, capabilities = {}, timeoutMs = DEFAULT_TIMEOUT_MS } = run;
  if (!Array.isArray(claims) || claims.length === 0) throw new TypeError("claims is a list with at least one claim");
  if (typeof run.make !== "function") throw new TypeError("make is a function that gives a fixture");
  refuseRepeatedIds(claims);
  refuseUnknown(capabilities, needsOf(claims));
  if (!(timeoutMs > 0)) throw new TypeError("timeoutMs is a number of milliseconds above 0");
  return Math.min(timeoutMs, LONGEST_MS);
}

/** What a capability may be called: what the claims need, and the other claims of the tables they are from. */
function needsOf(claims: readonly Claim<Fixture, string>[]): readonly string[] {
  const tables = Object.values<ClaimTable>(claimTables).map((table) => table.claims);
  const ids = new Set(claims.map(({ id }) => id));
  const home = tables.filter((table) => table.some(({ id }) => ids.has(id)));
  return [...new Set([claims, ...home].flat().flatMap(({ needs = [] }) => needs))].sort();
}

function refuseUnknown(capabilities: object, needs: readonly string[]): void {
  for (const [name, declared] of Object.entries(capabilities) as [string, unknown][]) {
    if (!needs.includes(name)) {
      const known = needs.length === 0 ? "they need none" : `they need ${needs.join(", ")}`;
      throw new TypeError(`no claim needs the capability ${safeLabel(name)}; ${known}`);
    }
    if (declared !== undefined && declared !== true && !isMissing(declared)) {
      throw new TypeError(`the capability ${name} is neither true nor { missing: "why" }`);
    }
  }
}

function isMissing(declared: unknown): boolean {
  if (typeof declared !== "object" || declared === null || !("missing" in declared)) return false;
  return typeof declared.missing === "string" && declared.missing.trim() !== "";
}

function refuseRepeatedIds(claims: readonly { readonly id: string }[]): void {
  const ids = new Set<string>();
  for (const { id } of claims) {
    if (ids.has(id)) throw new TypeError(`two claims have the id ${id}`);
    ids.add(id);
  }
}
