import type { CommandArgs, CommandOutcome, CommandParam } from "../../domain/command.js";
import { AgentError, SessionError } from "../../domain/errors.js";
import { isJsonObject } from "../../domain/json.js";
import type { SessionInfo } from "../../domain/session.js";
import type { CommandContext, CommandPort } from "../../ports/command.js";
import { CommandRegistry } from "./registry.js";
import { findSession, newestSessions, titleOf } from "./session-lookup.js";

/** Where `/export` puts a session: `lines` are what `agent.sessions.import` takes, `name` is what the user asked for. Returns the place, for the feedback. */
export type ExportSession = (
  lines: AsyncIterable<string>,
  name: string | undefined,
  sessionId: string,
) => Promise<string>;

/** How the session commands act outside the agent. */
export type SessionCommandsOptions = {
  /** Default: the lines themselves are the feedback. */
  readonly exportSession?: ExportSession | undefined;
};

/**
 * `/new`, `/sessions`, `/resume`, `/fork`, `/compact`, `/export`. The commands keep no state, so one port serves any number of users: one that
 * moves its user to another session says so in `structured.sessionId` (null for a session that is yet to begin), and the host follows.
 */
export function sessionCommands(options: SessionCommandsOptions = {}): CommandPort {
  const category = "sessions";
  return new CommandRegistry()
    .register({ id: "new", category, description: "Start a new session" }, () => moved(null, "A new session begins."))
    .register({ id: "sessions", category, description: "List the stored sessions, newest first" }, (_args, context) =>
      listSessions(context),
    )
    .register(
      {
        id: "resume",
        category,
        description: "Go on with a stored session: its number in /sessions, its id, or the beginning of its id",
        params: [text("session", "Number, id or beginning of an id", true)],
      },
      resume,
    )
    .register(
      {
        id: "fork",
        category,
        description: "Go on in a copy of this session",
        params: [text("message", "Id of the last message to copy; default all", false)],
      },
      fork,
    )
    .register(
      { id: "compact", category, description: "Send less of this session to the model from now on" },
      (_args, context) => compact(context),
    )
    .register(
      {
        id: "export",
        category,
        description: "Write this session as lines of JSON",
        params: [text("name", "Where to write it", false)],
      },
      (args, context) => exportLines(args, context, options.exportSession),
    );
}

/** The session a command's outcome moves its user to: an id, null for one that is yet to begin, undefined for staying. */
export function sessionChange(outcome: CommandOutcome): string | null | undefined {
  const structured = outcome.type === "success" ? outcome.structured : undefined;
  const sessionId = isJsonObject(structured) ? structured["sessionId"] : undefined;
  return typeof sessionId === "string" || sessionId === null ? sessionId : undefined;
}

function text(name: string, description: string, required: boolean): CommandParam {
  return { name, label: name, description, type: "string", required, positional: true };
}

function moved(sessionId: string | null, feedback: string): CommandOutcome {
  return { type: "success", feedback, structured: { sessionId } };
}

const NO_SESSION: CommandOutcome = { type: "failure", reason: "this session has not begun yet" };

function argument(args: CommandArgs, name: string): string | undefined {
  const value = args[name];
  return typeof value === "string" ? value : undefined;
}

async function listSessions({ agent, sessionId }: CommandContext): Promise<CommandOutcome> {
  const { items, more } = await newestSessions(agent.sessions);
  if (items.length === 0)
    return { type: "success", feedback: "No session is stored yet.", structured: { sessions: [] } };
  const titles: string[] = [];
  for (const item of items) titles.push(await titleOf(agent, item));
  const lines = items.map((item, index) => {
    const mark = item.id === sessionId ? "*" : " ";
    return `${mark}${String(index + 1).padStart(3)}  ${minute(item)}  ${item.count} messages  ${item.id}  ${titles[index] ?? ""}`;
  });
  if (more) lines.push("Older ones are not shown; /resume takes their ids.");
  const sessions = items.map(({ id, count, updatedAt }) => ({ id, count, updatedAt }));
  return { type: "success", feedback: lines.join("\n"), structured: { sessions } };
}

function minute(item: SessionInfo): string {
  const time = new Date(item.updatedAt);
  return Number.isNaN(time.getTime()) ? "unknown time" : `${time.toISOString().slice(0, 16).replace("T", " ")}Z`;
}

async function resume(args: CommandArgs, { agent }: CommandContext): Promise<CommandOutcome> {
  const found = await findSession(agent, argument(args, "session") ?? "");
  if (!found.ok) return { type: "failure", reason: found.reason };
  const { id, count } = found.value;
  return moved(id, `Session ${id} goes on after ${count} messages.`);
}

async function fork(args: CommandArgs, { agent, sessionId }: CommandContext): Promise<CommandOutcome> {
  if (sessionId === undefined) return NO_SESSION;
  const copy = await agent.sessions.fork(sessionId, argument(args, "message"));
  return moved(copy, `Session ${copy} goes on as a copy of ${sessionId}.`);
}

async function compact({ agent, sessionId, signal }: CommandContext): Promise<CommandOutcome> {
  if (sessionId === undefined) return NO_SESSION;
  try {
    const { sessionId: now, changed, before, after } = await agent.compact(sessionId, { signal });
    if (!changed) return { type: "success", feedback: "Nothing was made smaller." };
    return moved(now, `The model is sent ${after} messages in place of ${before}; all of them stay stored.`);
  } catch (error) {
    // A turn elsewhere, or a call that waits for a decision: later it works.
    if (signal.aborted) return { type: "failure", reason: "stopped" };
    const cause: unknown = error instanceof AgentError ? error.cause : undefined;
    if (cause instanceof SessionError && cause.kind === "conflict") return { type: "failure", reason: cause.message };
    throw error;
  }
}

async function exportLines(
  args: CommandArgs,
  { agent, sessionId }: CommandContext,
  exportSession: ExportSession | undefined,
): Promise<CommandOutcome> {
  if (sessionId === undefined) return NO_SESSION;
  const lines = agent.sessions.export(sessionId);
  if (exportSession === undefined) {
    let feedback = "";
    for await (const line of lines) feedback += line;
    return { type: "success", feedback };
  }
  return { type: "success", feedback: `written to ${await exportSession(lines, argument(args, "name"), sessionId)}` };
}
