import type { Parsed } from "../../domain/command.js";
import { isMessage, textOf } from "../../domain/message.js";
import { safeLabel } from "../../domain/safe-label.js";
import { SESSION_KEYS, type SessionInfo } from "../../domain/session.js";
import type { AgentApi, SessionAccess } from "../../ports/agent-api.js";

/** How many sessions a list shows. */
const SESSIONS_SHOWN = 20;

/** Sessions with more messages than this are listed without a title: finding one means loading it. */
const TITLE_MAX_MESSAGES = 500;
const PAGES_SEARCHED = 50;
const REDIRECTS_FOLLOWED = 100;

/** The newest sessions, and whether there are more. */
export async function newestSessions(
  sessions: SessionAccess,
): Promise<{ readonly items: readonly SessionInfo[]; readonly more: boolean }> {
  const page = await sessions.list({ limit: SESSIONS_SHOWN });
  return { items: page.items.slice(0, SESSIONS_SHOWN), more: page.cursor !== undefined };
}

/** The beginning of what the user said first; empty where it would cost too much to find, or cannot be read. */
export async function titleOf(agent: AgentApi, info: SessionInfo): Promise<string> {
  if (info.count > TITLE_MAX_MESSAGES) return "";
  try {
    const { messages } = await agent.session(info.id);
    const first = messages.find((message) => message.role === "user");
    return first !== undefined && isMessage(first) ? safeLabel(textOf(first)) : "";
  } catch {
    return "(cannot be read)";
  }
}

type Found = { readonly id: string; readonly count: number };

/**
 * The session meant by an exact id, else a number in the list as it is now, else the only id that begins so. A session that was
 * continued in another one leads there.
 */
export async function findSession(agent: AgentApi, wanted: string): Promise<Parsed<Found>> {
  if (wanted === "") return { ok: false, reason: "name a session: /sessions lists them" };
  const exact = await agent.session(wanted);
  if (exact.revision > 0) return follow(agent, wanted);
  if (/^[1-9][0-9]{0,2}$/.test(wanted)) {
    const { items } = await newestSessions(agent.sessions);
    const item = items[Number(wanted) - 1];
    if (item !== undefined) return follow(agent, item.id);
  }
  const matches = await idsBeginningWith(agent.sessions, wanted);
  const [only] = matches;
  if (only === undefined) return { ok: false, reason: `no session "${safeLabel(wanted)}" is stored` };
  if (matches.length > 1) return { ok: false, reason: `more than one session begins with "${safeLabel(wanted)}"` };
  return follow(agent, only);
}

/** At most two: more are as ambiguous. */
async function idsBeginningWith(sessions: SessionAccess, prefix: string): Promise<readonly string[]> {
  const matches: string[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < PAGES_SEARCHED && matches.length < 2; page += 1) {
    const found = await sessions.list(cursor === undefined ? {} : { cursor });
    matches.push(...found.items.filter((item) => item.id.startsWith(prefix)).map((item) => item.id));
    cursor = found.cursor;
    if (cursor === undefined) break;
  }
  return matches.slice(0, 2);
}

async function follow(agent: AgentApi, from: string): Promise<Parsed<Found>> {
  let id = from;
  for (let step = 0; step < REDIRECTS_FOLLOWED; step += 1) {
    const { metadata, messages } = await agent.session(id);
    const next = metadata[SESSION_KEYS.redirectedTo];
    if (typeof next !== "string") return { ok: true, value: { id, count: messages.length } };
    id = next;
  }
  return { ok: false, reason: "the session leads back to itself" };
}
