import { createHash } from "node:crypto";

/** What every provider of models accepts. */
const MAX_LENGTH = 64;
const LEGAL_SERVER = /^[a-zA-Z](?:[a-zA-Z0-9-]|_(?!_))*$/;
const LEGAL_TOOL = /^[a-zA-Z0-9_-]+$/;
const MAX_SERVER = 24;
const HASH = 10;

/**
 * The names of servers as they stand in front of their tools' names: their own where that is legal and short, else a readable form with a
 * hash. Each holds no `__` and ends in no `_`, so that the first `__` of a tool's name tells the server.
 */
export function serverPrefixes(servers: readonly string[]): ReadonlyMap<string, string> {
  const plain = servers.filter(
    (server) => LEGAL_SERVER.test(server) && !server.endsWith("_") && server.length <= MAX_SERVER,
  );
  const taken = new Set(plain);
  const prefixes = new Map(plain.map((server) => [server, server]));
  for (const server of servers) {
    if (prefixes.has(server)) continue;
    const prefix = free(taken, (salt) => {
      const readable = server.replace(/[^a-zA-Z0-9]+/g, "-").slice(0, MAX_SERVER - HASH - 2);
      return `s${/^-?$/.test(readable) ? "" : `-${readable.replace(/^-|-$/g, "")}`}-${hash(server, salt)}`;
    });
    prefixes.set(server, prefix);
    taken.add(prefix);
  }
  return prefixes;
}

/**
 * The names under which the tools of one server are offered, by their own names; no two alike. A tool whose name is legal and short keeps it
 * behind the prefix, any other gets a readable form with a hash: the same each time it is listed with the same plain names beside it.
 */
export function offeredNames(prefix: string, tools: readonly string[]): ReadonlyMap<string, string> {
  const room = MAX_LENGTH - prefix.length - 2;
  const fits = (tool: string): boolean => LEGAL_TOOL.test(tool) && tool.length <= room;
  const taken = new Set(tools.filter(fits));
  return new Map(
    tools.map((tool) => {
      if (fits(tool)) return [tool, `${prefix}__${tool}`];
      const readable = tool.replace(/[^a-zA-Z0-9_-]+/g, "_").slice(0, room - HASH - 1);
      const name = free(taken, (salt) => `${readable}_${hash(tool, salt)}`);
      taken.add(name);
      return [tool, `${prefix}__${name}`];
    }),
  );
}

function free(taken: ReadonlySet<string>, make: (salt: number) => string): string {
  let name = make(0);
  for (let salt = 1; taken.has(name); salt++) name = make(salt);
  return name;
}

function hash(text: string, salt: number): string {
  return createHash("sha256").update(`${salt}:${text}`).digest("hex").slice(0, HASH);
}
