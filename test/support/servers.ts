import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { chownSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Redis } from "ioredis";
import pg from "pg";
import { describe } from "vitest";
import { freePort } from "./free-port.js";

/** A server of the tests' own, which they may stop and start; `stop` asks it to end at once, `kill` does not ask, and takes all its processes. */
export type PrivateServer = AsyncDisposable & {
  readonly url: string;
  readonly port: number;
  start(): Promise<void>;
  stop(): Promise<void>;
  kill(): Promise<void>;
  /** Its process, to be paused. */
  readonly pid: number;
};

/** Where a server is, or why there is none. */
export type Found<T> = { readonly found: T } | { readonly missing: string };

/** What a server may take to answer at all; where none listens the answer is there at once. */
const PROBE_MS = 15_000;

const required = process.env["ENNEAD_REQUIRE_SERVICES"] === "1";

/** Runs the suite with what was found, or skips it with the reason in its title; where services are required it fails instead. */
export function describeWith<T>(title: string, server: Found<T>, suite: (found: T) => void): void {
  if ("found" in server) describe(title, () => suite(server.found));
  else if (required) {
    describe(title, () => {
      throw new Error(`ENNEAD_REQUIRE_SERVICES is set: ${server.missing}`);
    });
  } else {
    console.warn(`${title} (skipped, ${server.missing})`);
    describe.skip(`${title} (skipped, ${server.missing})`, () => suite(undefined as never));
  }
}

/** Of the URL in the environment, a server that runs where it runs by default, and one started for these tests: the first there is. */
export async function postgresUrl(): Promise<Found<string>> {
  const given = process.env["ENNEAD_POSTGRES_URL"];
  if (given !== undefined) return { found: given };
  const usual = "postgres://postgres@127.0.0.1:5432/test";
  if (await answersPostgres(usual)) return { found: usual };
  return startedForAll(privatePostgres());
}

/** Like `postgresUrl`, for Redis. */
export async function redisUrl(): Promise<Found<string>> {
  const given = process.env["ENNEAD_REDIS_URL"];
  if (given !== undefined) return { found: given };
  const usual = "redis://127.0.0.1:6379";
  if (await answersRedis(usual)) return { found: usual };
  return startedForAll(privateRedis());
}

const startedHere: PrivateServer[] = [];

async function startedForAll(server: Found<(options?: string[]) => Promise<PrivateServer>>): Promise<Found<string>> {
  if ("missing" in server) return server;
  const started = await server.found();
  startedHere.push(started);
  return { found: started.url };
}

/** Stops what `postgresUrl` and `redisUrl` started in this process; to be called once, when the tests of a file are through. */
export async function stopServers(): Promise<void> {
  for (const server of startedHere.splice(0)) await server[Symbol.asyncDispose]();
}

/** A name for a schema or a key prefix that no other run uses. */
export function ownName(): string {
  return `ennead_test_${randomUUID().replaceAll("-", "").slice(0, 16)}`;
}

/** True when a PostgreSQL accepts a connection there. */
export async function answersPostgres(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: PROBE_MS, query_timeout: PROBE_MS });
  client.on("error", () => {});
  try {
    await client.connect();
    await client.query("SELECT 1");
    return true;
  } catch {
    return false;
  } finally {
    await client.end().catch(() => {});
  }
}

/** True when a Redis accepts a connection there. */
export async function answersRedis(url: string): Promise<boolean> {
  const client = new Redis(url, {
    lazyConnect: true,
    retryStrategy: null,
    connectTimeout: PROBE_MS,
    commandTimeout: PROBE_MS,
  });
  client.on("error", () => {});
  try {
    return (await client.ping()) === "PONG";
  } catch {
    return false;
  } finally {
    client.disconnect();
  }
}

function binary(name: string, folders: readonly string[]): string | undefined {
  const paths = [...folders, ...(process.env["PATH"] ?? "").split(":")].map((folder) => join(folder, name));
  return paths.find((path) => existsSync(path));
}

/** How to run a program as a user the server accepts: PostgreSQL refuses to be root. */
function unprivileged(): Found<{ readonly prefix: string[]; readonly uid: number; readonly gid: number } | undefined> {
  if (process.getuid?.() !== 0) return { found: undefined };
  const setpriv = binary("setpriv", []);
  if (setpriv === undefined) return { missing: "PostgreSQL does not run as root, and there is no setpriv" };
  try {
    const [uid, gid] = ["-u", "-g"].map((flag) => Number(execFileSync("id", [flag, "postgres"], { stdio: "pipe" })));
    if (uid === undefined || gid === undefined) return { missing: "there is no user postgres" };
    return { found: { prefix: [setpriv, `--reuid=${uid}`, `--regid=${gid}`, "--clear-groups"], uid, gid } };
  } catch {
    return { missing: "PostgreSQL does not run as root, and there is no user postgres" };
  }
}

/** How to start a PostgreSQL of one's own with settings such as `["fsync=on"]`, from an installed binary. */
export function privatePostgres(): Found<(settings?: string[], limits?: string) => Promise<PrivateServer>> {
  const root = "/usr/lib/postgresql";
  const versions = existsSync(root) ? readdirSync(root).sort((a, b) => Number(b) - Number(a)) : [];
  const folders = versions.map((version) => join(root, version, "bin"));
  const [initdb, postgres] = [binary("initdb", folders), binary("postgres", folders)];
  if (initdb === undefined || postgres === undefined) return { missing: "PostgreSQL is not installed" };
  const user = unprivileged();
  if ("missing" in user) return user;
  return {
    found: async (settings = [], limits = "") => {
      const directory = mkdtempSync(join(tmpdir(), "ennead-postgres-"));
      if (user.found) chownSync(directory, user.found.uid, user.found.gid);
      const data = join(directory, "data");
      const [program = initdb, ...prefix] = [...(user.found?.prefix ?? []), initdb];
      const initial = ["-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--wal-segsize=1", "--no-sync"];
      execFileSync(program, [...prefix, ...initial], { stdio: "pipe", cwd: directory });
      const port = await freePort();
      const flags = ["listen_addresses=127.0.0.1", `unix_socket_directories=${directory}`, "fsync=off", ...settings];
      const server = [postgres, "-D", data, "-p", String(port), ...flags.flatMap((flag) => ["-c", flag])];
      const command = [...(user.found?.prefix ?? []), "sh", "-c", `${limits} exec "$@"`, "sh", ...server];
      const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
      return privateServer({ command, directory, port, url, signal: "SIGINT", answers: () => answersPostgres(url) });
    },
  };
}

/** How to start a Redis of one's own with settings such as `["--maxmemory", "2mb"]`, from an installed binary. */
export function privateRedis(): Found<(settings?: string[]) => Promise<PrivateServer>> {
  const redis = binary("redis-server", []) ?? binary("valkey-server", []);
  if (redis === undefined) return { missing: "Redis is not installed" };
  return {
    found: async (settings = []) => {
      const directory = mkdtempSync(join(tmpdir(), "ennead-redis-"));
      const port = await freePort();
      const place = ["--port", String(port), "--bind", "127.0.0.1", "--dir", directory];
      const command = [redis, ...place, "--appendonly", "yes", "--appendfsync", "always", ...settings];
      const url = `redis://127.0.0.1:${port}`;
      return privateServer({ command, directory, port, url, signal: "SIGTERM", answers: () => answersRedis(url) });
    },
  };
}

/** The processes of a server that is killed would go on serving for a moment. */
function childrenOf(pid: number | undefined): number[] {
  const path = `/proc/${pid}/task/${pid}/children`;
  if (!existsSync(path)) return [];
  return readFileSync(path, "utf8").split(" ").filter(Boolean).map(Number);
}

type Launch = {
  readonly command: readonly string[];
  readonly directory: string;
  readonly port: number;
  readonly url: string;
  readonly signal: NodeJS.Signals;
  readonly answers: () => Promise<boolean>;
};

async function privateServer({ command, directory, port, url, signal, answers }: Launch): Promise<PrivateServer> {
  let child: ChildProcess | undefined;
  const end = async (how: NodeJS.Signals): Promise<void> => {
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, "exit");
    const workers = how === "SIGKILL" ? childrenOf(child.pid) : [];
    child.kill(how);
    for (const pid of workers) {
      try {
        process.kill(pid, how);
      } catch {}
    }
    await ended;
  };
  const server: PrivateServer = {
    url,
    port,
    get pid() {
      return child?.pid ?? 0;
    },
    async start() {
      const [program = "", ...args] = command;
      let noise = "";
      for (let attempt = 0; ; attempt++) {
        // One that was killed may leave processes behind for a moment, and no other starts until they are gone.
        if (child === undefined || child.exitCode !== null || child.signalCode !== null) {
          child = spawn(program, args, { stdio: ["ignore", "ignore", "pipe"], cwd: directory });
          child.stderr?.on("data", (chunk: Buffer) => (noise += chunk.toString()));
        }
        if (await answers()) return;
        if (attempt > 2_000) throw new Error(`the server did not start\n${noise}`);
        await new Promise<void>((resolve) => void setTimeout(resolve, 25));
      }
    },
    stop: () => end(signal),
    kill: () => end("SIGKILL"),
    async [Symbol.asyncDispose]() {
      await end("SIGKILL");
      rmSync(directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
    },
  };
  await server.start();
  return server;
}
