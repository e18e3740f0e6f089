import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

/**
 * The server of a kind: the one the environment names (`ENNEAD_POSTGRES_URL`, `ENNEAD_REDIS_URL`), else a private one from an installed binary, as
 * durable as it is by default. `missing` says why there is none. Whoever asked for it stops it.
 */
export async function serverOf(kind) {
  const url = process.env[`ENNEAD_${kind.toUpperCase()}_URL`];
  if (url !== undefined) return { url, stop: () => undefined };
  const start = { postgres: startPostgres, redis: startRedis }[kind];
  return start === undefined ? { stop: () => undefined } : start();
}

/** The PostgreSQL of `serverOf` where that has the extension `vector`, else one that is `inWasm`. Whoever asked for it stops it. */
export async function vectorServer() {
  const server = await serverOf("postgres");
  if (server.url !== undefined && (await hasVector(server.url))) return server;
  await server.stop?.();
  const folder = mkdtempSync(join(tmpdir(), "ennead-bench-pglite-"));
  const port = await freePort();
  const command = [process.execPath, join(import.meta.dirname, "pglite.mjs"), join(folder, "data"), String(port)];
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
  return { ...(await started({ command, folder, url, ready: postgresAnswers })), inWasm: true };
}

async function hasVector(url) {
  const { default: pg } = await import("pg");
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const { rowCount } = await client.query("SELECT FROM pg_available_extensions WHERE name = 'vector'");
  await client.end();
  return rowCount > 0;
}

async function startPostgres() {
  const root = "/usr/lib/postgresql";
  const versions = existsSync(root) ? readdirSync(root).sort((a, b) => Number(b) - Number(a)) : [];
  const folders = versions.map((version) => join(root, version, "bin"));
  const [initdb, postgres] = [binary("initdb", folders), binary("postgres", folders)];
  if (initdb === undefined || postgres === undefined) return { missing: "PostgreSQL is not installed" };
  const folder = mkdtempSync(join(tmpdir(), "ennead-bench-postgres-"));
  // PostgreSQL refuses to be root.
  let prefix = [];
  if (process.getuid() === 0) {
    const [uid, gid] = ["-u", "-g"].map((flag) => Number(execFileSync("id", [flag, "postgres"])));
    chownSync(folder, uid, gid);
    prefix = ["setpriv", `--reuid=${uid}`, `--regid=${gid}`, "--clear-groups"];
  }
  const data = join(folder, "data");
  const [program, ...args] = [...prefix, initdb, "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8"];
  execFileSync(program, args, { stdio: "pipe", cwd: folder });
  const port = await freePort();
  const flags = ["-c", "listen_addresses=127.0.0.1", "-c", `unix_socket_directories=${folder}`];
  const command = [...prefix, postgres, "-D", data, "-p", String(port), ...flags];
  return started({ command, folder, url: `postgres://postgres@127.0.0.1:${port}/postgres`, ready: postgresAnswers });
}

async function startRedis() {
  const redis = binary("redis-server", []) ?? binary("valkey-server", []);
  if (redis === undefined) return { missing: "Redis is not installed" };
  const folder = mkdtempSync(join(tmpdir(), "ennead-bench-redis-"));
  const port = await freePort();
  const command = [redis, "--port", String(port), "--bind", "127.0.0.1", "--dir", folder, "--appendonly", "yes"];
  return started({ command, folder, url: `redis://127.0.0.1:${port}`, ready: redisAnswers });
}

async function started({ command, folder, url, ready }) {
  const [program, ...args] = command;
  const child = spawn(program, args, { stdio: "ignore", cwd: folder });
  const stop = async () => {
    if (child.exitCode === null && child.signalCode === null) {
      const ended = once(child, "exit");
      child.kill("SIGINT");
      await ended;
    }
    rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
  };
  for (let attempt = 0; attempt < 400; attempt++) {
    if (await ready(url)) return { url, stop };
    if (child.exitCode !== null) break;
    await new Promise((resolve) => void setTimeout(resolve, 50));
  }
  await stop();
  return { missing: `${program} did not start` };
}

async function postgresAnswers(url) {
  const { default: pg } = await import("pg");
  const client = new pg.Client({ connectionString: url });
  client.on("error", () => undefined);
  const answered = await client.connect().then(
    () => true,
    () => false,
  );
  await client.end().catch(() => undefined);
  return answered;
}

async function redisAnswers(url) {
  const { Redis } = await import("ioredis");
  const client = new Redis(url, { lazyConnect: true, retryStrategy: null });
  client.on("error", () => undefined);
  const answered = await client.ping().then(
    () => true,
    () => false,
  );
  client.disconnect();
  return answered;
}

function binary(name, folders) {
  const places = [...folders, ...(process.env.PATH ?? "").split(":")];
  return places.map((folder) => join(folder, name)).find((path) => existsSync(path));
}

async function freePort() {
  const server = createServer();
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address();
  server.close();
  await once(server, "close");
  return port;
}
