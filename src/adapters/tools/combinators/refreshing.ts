import { CompositionError, Defect } from "../../../domain/errors.js";
import { checkFields } from "../../../domain/known-fields.js";
import { isTimeLimit } from "../../../domain/limits.js";
import type { ToolDef } from "../../../domain/tool.js";
import type { Runtime } from "../../../ports/runtime.js";
import type { ListContext, ToolProvider } from "../../../ports/tool-provider.js";
import { checkProviders, forwarded } from "./forwarded.js";
import { SharedListing } from "./shared-listing.js";

/** When a source is asked again, and what stands when it does not answer. */
export type RefreshOptions = {
  /** `"each-turn"` (default), or `"on-change"`: only once the source said that its list is another. */
  readonly relist?: "each-turn" | "on-change" | undefined;
  /** `"keep"` the last list that was whole (default), have no tools (`"lose"`, default for an `optional` source), or `"fail"` the listing. */
  readonly whenFailing?: "keep" | "lose" | "fail" | undefined;
  /** Milliseconds one listing may take; default 10,000. */
  readonly timeoutMs?: number | undefined;
  /** Hears what a listing failed with where it does not fail for that; must not throw. */
  readonly onFailure?: ((error: unknown) => void) | undefined;
  /** Default: the platform's timers. */
  readonly runtime?: Pick<Runtime, "after"> | undefined;
};

const OPTION_NAMES = [
  "relist",
  "whenFailing",
  "timeoutMs",
  "onFailure",
  "runtime",
] as const satisfies readonly (keyof RefreshOptions)[];

/**
 * A remote source whose list is asked for as seldom as it is wanted, and that cannot hold up or take down a turn: listings are bounded, asked once for
 * all who wait at the same time, and a failing one leaves what `whenFailing` says. The source must list the same for every session; it
 * is told of none. A first listing that fails has nothing to keep, and fails.
 */
export function refreshing(provider: ToolProvider, options: RefreshOptions = {}): ToolProvider {
  checkProviders("refreshing", [provider]);
  checkFields("refreshing", options, OPTION_NAMES);
  const {
    relist = "each-turn",
    timeoutMs = 10_000,
    whenFailing = provider.optional === true ? "lose" : "keep",
  } = options;
  const settings = { ...options, relist, timeoutMs, whenFailing };
  checkSettings(settings);
  if (relist === "on-change" && provider.onToolsChanged === undefined) {
    throw new CompositionError("invalid-config", "a source that never tells of changes cannot be listed on change");
  }
  const source = new RefreshedList(provider, settings);
  return forwarded(provider, { listTools: (context) => source.list(context) });
}

type Settings = RefreshOptions &
  Required<Pick<RefreshOptions, "relist" | "whenFailing">> & { readonly timeoutMs: number };

function checkSettings({ relist, whenFailing, timeoutMs, onFailure, runtime }: Settings): void {
  const faults = [
    [relist !== "each-turn" && relist !== "on-change", 'relist that is neither "each-turn" nor "on-change"'],
    [
      whenFailing !== "keep" && whenFailing !== "lose" && whenFailing !== "fail",
      'whenFailing that is none of "keep", "lose" and "fail"',
    ],
    [!isTimeLimit(timeoutMs), "timeoutMs that is no number above 0"],
    [onFailure !== undefined && typeof onFailure !== "function", "onFailure that is no function"],
    [runtime !== undefined && typeof runtime?.after !== "function", "a runtime without after"],
  ] as const;
  const fault = faults.find(([wrong]) => wrong);
  if (fault !== undefined) throw new CompositionError("invalid-config", `refreshing has ${fault[1]}`);
}

class RefreshedList {
  readonly #provider: ToolProvider;
  readonly #settings: Settings;
  readonly #listing: SharedListing;
  #last: readonly ToolDef[] | undefined;
  /** Whether `last` is what the source has, for all that is known. */
  #fresh = false;
  #turnId: string | undefined;
  #changes = 0;
  #listening = false;

  constructor(provider: ToolProvider, settings: Settings) {
    this.#provider = provider;
    this.#settings = settings;
    this.#listing = new SharedListing(provider, settings.timeoutMs, settings.runtime);
  }

  async list(context: ListContext): Promise<readonly ToolDef[]> {
    this.#listen();
    if (this.#last !== undefined && this.#fresh && this.#isCurrent(context)) return this.#last;
    const changes = this.#changes;
    try {
      const defs = await this.#listing.ask(context.signal);
      this.#last = defs;
      this.#turnId = context.turnId;
      // What changed meanwhile may not be in it.
      this.#fresh = changes === this.#changes;
      return defs;
    } catch (error) {
      if (Defect.is(error) || context.signal.aborted) throw error;
      return this.#without(error);
    }
  }

  #isCurrent({ turnId }: ListContext): boolean {
    return this.#settings.relist === "on-change" || (turnId !== undefined && turnId === this.#turnId);
  }

  #without(error: unknown): readonly ToolDef[] {
    const { whenFailing, onFailure } = this.#settings;
    const left = whenFailing === "lose" ? [] : whenFailing === "keep" ? this.#last : undefined;
    if (left === undefined) throw error;
    this.#fresh = false;
    onFailure?.(error);
    return left;
  }

  /** For as long as the source lives: whoever lists may come and go. */
  #listen(): void {
    if (this.#listening) return;
    this.#provider.onToolsChanged?.(() => {
      this.#changes += 1;
      this.#fresh = false;
    });
    this.#listening = true;
  }
}
