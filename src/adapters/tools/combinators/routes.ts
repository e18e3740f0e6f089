import type { ToolDef } from "../../../domain/tool.js";
import type { ToolProvider } from "../../../ports/tool-provider.js";

/** A tool as it is shown, whose it is, and what it is called there. */
export type Route = { readonly def: ToolDef; readonly provider: ToolProvider; readonly name: string };

/** Sessions whose lists are remembered; one beyond is listed again when it calls. */
const MAX_SESSIONS = 256;

/** `at` tells which of two lists is the newer one. */
type Table = { readonly at: number; readonly byName: ReadonlyMap<string, Route> };

/** What was listed last, for each session: a source may list other tools for another one. */
export class Routes {
  readonly #tables = new Map<string, Table>();
  #lists = 0;

  remember(sessionId: string | undefined, routes: readonly Route[]): void {
    const key = keyOf(sessionId);
    // Behind the others: the newest is the last.
    this.#tables.delete(key);
    this.#tables.set(key, { at: this.#lists++, byName: new Map(routes.map((route) => [route.def.name, route])) });
    const [oldest] = this.#tables.keys();
    if (this.#tables.size > MAX_SESSIONS && oldest !== undefined) this.#tables.delete(oldest);
  }

  /** True where the session's own list is known. */
  knows(sessionId: string): boolean {
    return this.#tables.has(keyOf(sessionId));
  }

  /** The session's own tool of that name. A newer list of no session counts too: whoever keeps lists for all sessions asks for no other. */
  of(sessionId: string | undefined, name: string): Route | undefined {
    const own = this.#tables.get(keyOf(sessionId));
    const common = this.#tables.get(keyOf(undefined));
    const newer = common !== undefined && own !== undefined && common.at > own.at ? common : undefined;
    return newer?.byName.get(name) ?? own?.byName.get(name);
  }

  /** For questions that come without a session: the tool of that name that was listed last. */
  latest(name: string): Route | undefined {
    for (const table of [...this.#tables.values()].reverse()) {
      const route = table.byName.get(name);
      if (route !== undefined) return route;
    }
    return undefined;
  }
}

/** No session is a key of its own. */
function keyOf(sessionId: string | undefined): string {
  return sessionId === undefined ? "" : `:${sessionId}`;
}
