import { parseArgs } from "node:util";
import type { Parsed } from "../../domain/command.js";

/** What a command line asks for. */
export type CliRequest =
  | { readonly type: "help" }
  | { readonly type: "version" }
  | ({ readonly type: "chat" } & ChatFlags);

/** The flags of `chat`; what is absent comes from the environment or a default. */
export type ChatFlags = {
  readonly model?: string;
  readonly baseUrl?: string;
  readonly session?: string;
  readonly db?: string;
  readonly root?: string;
  readonly offline: boolean;
};

/** What `ennead --help` prints, line feed at the end. */
export const HELP = `Usage: ennead chat [flags]

A chat with an agent in the terminal. Its tools read files below one folder, do sums and tell the time.

  --model NAME     model to ask (default: ENNEAD_MODEL, then gpt-4.1-mini at OpenAI)
  --base-url URL   OpenAI-compatible server (default: OPENAI_BASE_URL, then OpenAI)
  --offline        use the built-in offline demo, which is no language model
  --session ID     go on with this session, or begin it
  --db FILE        where sessions are kept (default: $XDG_DATA_HOME/ennead/sessions.db,
                   then ~/.local/share/ennead/sessions.db)
  --root FOLDER    folder the tools may read (default: the current one)
  --help, --version

The key comes from OPENAI_API_KEY. Without a key and without a server of your own the offline demo answers.
In the chat: /help lists commands, Ctrl-C stops an answer, Ctrl-C again or Ctrl-D leaves.
`;

const OPTIONS = {
  model: { type: "string" },
  "base-url": { type: "string" },
  session: { type: "string" },
  db: { type: "string" },
  root: { type: "string" },
  offline: { type: "boolean", default: false },
  help: { type: "boolean", short: "h", default: false },
  version: { type: "boolean", short: "v", default: false },
} as const;

/** Reads the arguments behind the program's name; a reason names what is wrong with them. */
export function parseCli(args: readonly string[]): Parsed<CliRequest> {
  let parsed;
  try {
    parsed = parseArgs({ args: [...args], options: OPTIONS, allowPositionals: true });
  } catch (error) {
    // The rest of the message is advice about arguments that begin with a dash, which we never take.
    return {
      ok: false,
      reason: (error instanceof Error ? error.message : String(error)).replace(/\. To specify.*/s, ""),
    };
  }
  const { values, positionals } = parsed;
  if (values.help) return { ok: true, value: { type: "help" } };
  if (values.version) return { ok: true, value: { type: "version" } };
  const [command, ...surplus] = positionals;
  if (command === undefined) return { ok: false, reason: "name a command: ennead chat" };
  if (command !== "chat") return { ok: false, reason: `there is no command "${command}"` };
  if (surplus.length > 0)
    return { ok: false, reason: `"${surplus.join(" ")}" is too much: the chat reads messages from its input` };
  const { model, "base-url": baseUrl, session, db, root, offline } = values;
  const empty = Object.entries({ model, "base-url": baseUrl, session, db, root }).find(([, value]) => value === "");
  if (empty !== undefined) return { ok: false, reason: `--${empty[0]} is empty` };
  const given = { model, baseUrl, session, db, root };
  const flags = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  return { ok: true, value: { type: "chat", offline, ...flags } };
}
