import { isAbsolute, join, resolve } from "node:path";
import type { Parsed } from "../../domain/command.js";
import type { ChatFlags } from "./cli-flags.js";

/** Where a process runs. */
export type Surroundings = {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly home: string;
};

/** A language model behind an OpenAI-compatible server. */
export type ServerModel = { readonly model: string; readonly baseUrl?: string; readonly apiKey?: string };

/** Everything a chat needs to know, paths absolute. Without `server` the offline demo answers. */
export type ChatSettings = {
  readonly server?: ServerModel;
  readonly session?: string;
  readonly db: string;
  readonly root: string;
};

const DEFAULT_MODEL = "gpt-4.1-mini";

/** Flags win over the environment. Refuses an address that is no web address or holds a password, and a server without a model name. */
export function chatSettings(flags: ChatFlags, { env, cwd, home }: Surroundings): Parsed<ChatSettings> {
  const server = flags.offline ? ({ ok: true, value: undefined } as const) : serverModel(flags, env);
  if (!server.ok) return server;
  const xdg = env["XDG_DATA_HOME"];
  const data = xdg !== undefined && isAbsolute(xdg) ? xdg : join(home, ".local", "share");
  return {
    ok: true,
    value: {
      ...(server.value !== undefined && { server: server.value }),
      ...(flags.session !== undefined && { session: flags.session }),
      db: flags.db === undefined ? join(data, "ennead", "sessions.db") : resolve(cwd, flags.db),
      root: resolve(cwd, flags.root ?? "."),
    },
  };
}

function serverModel(flags: ChatFlags, env: Surroundings["env"]): Parsed<ServerModel | undefined> {
  const apiKey = given(env["OPENAI_API_KEY"]);
  const baseUrl = flags.baseUrl ?? given(env["OPENAI_BASE_URL"]);
  if (apiKey === undefined && baseUrl === undefined) {
    if (flags.model === undefined) return { ok: true, value: undefined };
    return { ok: false, reason: "--model needs OPENAI_API_KEY or --base-url; --offline talks to the offline demo" };
  }
  const model = flags.model ?? given(env["ENNEAD_MODEL"]) ?? (baseUrl === undefined ? DEFAULT_MODEL : undefined);
  if (model === undefined) return { ok: false, reason: "name the model of this server with --model or ENNEAD_MODEL" };
  const fault = baseUrl === undefined ? undefined : addressFault(baseUrl);
  if (fault !== undefined) return { ok: false, reason: `--base-url or OPENAI_BASE_URL ${fault}` };
  return {
    ok: true,
    value: { model, ...(baseUrl !== undefined && { baseUrl }), ...(apiKey !== undefined && { apiKey }) },
  };
}

function given(value: string | undefined): string | undefined {
  const text = value?.trim();
  return text === "" ? undefined : text;
}

/** Quotes nothing of the address: it may hold a secret. */
function addressFault(address: string): string | undefined {
  if (!URL.canParse(address)) return "is no web address";
  const url = new URL(address);
  if (url.protocol !== "http:" && url.protocol !== "https:") return "is neither http nor https";
  return url.username === "" && url.password === "" ? undefined : "must not hold a user name or password";
}
