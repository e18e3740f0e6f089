import { parseArgs } from "node:util";
import type { Parsed } from "../../domain/command.js";

/** What a command line asks for. */
export type CliRequest =
  | { readonly type: "help" }
  | { readonly type: "version" }
  | ({ readonly type: "chat" } & ChatFlags)
  | ({ readonly type: "check" } & CheckFlags);

/** The flags of `chat`; what is absent comes from the environment or a default. */
export type ChatFlags = {
  readonly model?: string;
  readonly baseUrl?: string;
  readonly session?: string;
  readonly db?: string;
  readonly root?: string;
  readonly offline: boolean;
};

/** The flags of `check`; `only` names claims and is empty for all of them. */
export type CheckFlags = {
  readonly module: string;
  readonly only: readonly string[];
  readonly timeoutMs: number;
  readonly json: boolean;
};

/** What `ennead --help` prints, line feed at the end. */
export const HELP = `Usage: ennead chat [flags]
       ennead check FILE [flags]

chat: a chat with an agent in the terminal. Its tools read files below one folder, do sums and tell the time.

  --model NAME     model to ask (default: ENNEAD_MODEL, then gpt-4.1-mini at OpenAI)
  --base-url URL   OpenAI-compatible server (default: OPENAI_BASE_URL, then OpenAI)
  --offline        use the built-in offline demo, which is no language model
  --session ID     go on with this session, or begin it
  --db FILE        where sessions are kept (default: $XDG_DATA_HOME/ennead/sessions.db,
                   then ~/.local/share/ennead/sessions.db)
  --root FOLDER    folder the tools may read (default: the current one)

The key comes from OPENAI_API_KEY. Without a key and without a server of your own the offline demo answers.
In the chat: /help lists commands, Ctrl-C stops an answer, Ctrl-C again or Ctrl-D leaves.

check: the claims of a port, checked on the adapters that a module exports, such as
  export const sessionStore = { make: () => new MyStore(), capabilities: {} };
It ends with 0 when no claim failed, 1 when one did, 2 when the module could not be checked.

  --only ID        check this claim; several times for several
  --timeout MS     how long a claim may take (default: 30000)
  --json           print one JSON document instead of a report

  --help, --version
`;

const OPTIONS = {
  model: { type: "string" },
  "base-url": { type: "string" },
  session: { type: "string" },
  db: { type: "string" },
  root: { type: "string" },
  offline: { type: "boolean" },
  only: { type: "string", multiple: true },
  timeout: { type: "string" },
  json: { type: "boolean" },
  help: { type: "boolean", short: "h" },
  version: { type: "boolean", short: "v" },
} as const;

const FLAGS: Readonly<Record<"chat" | "check", readonly string[]>> = {
  chat: ["model", "base-url", "session", "db", "root", "offline"],
  check: ["only", "timeout", "json"],
};

type Read = ReturnType<typeof read>;

/** Reads the arguments behind the program's name; a reason names what is wrong with them. */
export function parseCli(args: readonly string[]): Parsed<CliRequest> {
  let parsed;
  try {
    parsed = read(args);
  } catch (error) {
    // The rest of the message is advice about arguments that begin with a dash, which we never take.
    return refused((error instanceof Error ? error.message : String(error)).replace(/\. To specify.*/s, ""));
  }
  const { values, positionals } = parsed;
  if (values.help === true) return { ok: true, value: { type: "help" } };
  if (values.version === true) return { ok: true, value: { type: "version" } };
  const [command, ...operands] = positionals;
  if (command === undefined) return refused("name a command: ennead chat, or ennead check");
  if (command !== "chat" && command !== "check") return refused(`there is no command "${command}"`);
  const strange = Object.keys(values).find((name) => !FLAGS[command].includes(name));
  if (strange !== undefined) return refused(`--${strange} is no flag of ${command}`);
  const empty = Object.entries(values).find(([, value]) => [value].flat().includes(""));
  if (empty !== undefined) return refused(`--${empty[0]} is empty`);
  return command === "chat" ? chatRequest(values, operands) : checkRequest(values, operands);
}

function read(args: readonly string[]) {
  return parseArgs({ args: [...args], options: OPTIONS, allowPositionals: true });
}

function refused(reason: string): { readonly ok: false; readonly reason: string } {
  return { ok: false, reason };
}

function chatRequest(values: Read["values"], surplus: readonly string[]): Parsed<CliRequest> {
  if (surplus.length > 0) return refused(`"${surplus.join(" ")}" is too much: the chat reads messages from its input`);
  const { model, "base-url": baseUrl, session, db, root, offline = false } = values;
  const given = { model, baseUrl, session, db, root };
  const flags = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  return { ok: true, value: { type: "chat", offline, ...flags } };
}

function checkRequest(values: Read["values"], [module, ...surplus]: readonly string[]): Parsed<CliRequest> {
  if (module === undefined || module === "") return refused("name the module to check: ennead check FILE");
  if (surplus.length > 0) return refused(`"${surplus.join(" ")}" is too much: one module is checked at a time`);
  const { only = [], timeout = "30000", json = false } = values;
  const timeoutMs = /^\d{1,9}$/.test(timeout) ? Number(timeout) : 0;
  if (timeoutMs === 0) return refused("--timeout is a whole number of milliseconds above 0");
  return { ok: true, value: { type: "check", module, only, timeoutMs, json } };
}
