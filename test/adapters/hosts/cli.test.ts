import { once } from "node:events";
import { existsSync, statSync } from "node:fs";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { SqliteSessionStore } from "../../../src/adapters/sessions/sqlite.js";
import { isMessage, textOf } from "../../../src/domain/message.js";
import { BundledCli } from "../../support/bundled-cli.js";

let cli: BundledCli;

beforeAll(async () => {
  cli = await BundledCli.make();
});

afterAll(() => cli.remove());

const stored = async (db: string, id: string): Promise<readonly string[]> => {
  await using store = new SqliteSessionStore({ path: db });
  const { messages } = await store.load(id);
  return messages.filter(isMessage).map((message) => {
    const stopped = message.role === "assistant" && message.stopped !== undefined ? ` (${message.stopped})` : "";
    return `${message.role}${stopped}: ${textOf(message)}`;
  });
};

/** A model server that begins an answer and never ends it. It records the keys it was shown. */
async function hangingServer(): Promise<{ server: Server; url: string; keys: (string | undefined)[] }> {
  const keys: (string | undefined)[] = [];
  const answer = (response: ServerResponse): void => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    const chunk = {
      choices: [{ index: 0, delta: { role: "assistant", content: "It was a dark " }, finish_reason: null }],
    };
    response.write(`data: ${JSON.stringify(chunk)}\n\n`);
  };
  const server = createServer((request, response) => {
    keys.push(request.headers.authorization);
    request.resume().on("end", () => answer(response));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return { server, url: `http://127.0.0.1:${port}/v1`, keys };
}

describe("ennead chat as a process", () => {
  it("chats offline without a key, says what it is, and keeps the session in a private folder", async () => {
    const run = cli.start(["chat", "--session", "s", "--root", "dist"]);
    run.screen.type("list the files and what is 6 * 7?", "/nope", "/quit");
    expect(await run.finish()).toBe(0);
    const { shown } = run.screen;
    expect(shown).toContain("no language model");
    expect(shown).toContain("→ list_files");
    expect(shown).toContain("✓ calculate: 42");
    expect(shown).toContain("/nope");
    const db = join(cli.place, ".local", "share", "ennead", "sessions.db");
    expect(await stored(db, "s")).toHaveLength(5);
    expect(statSync(join(db, "..")).mode & 0o777).toBe(0o700);
    expect(statSync(db).mode & 0o077).toBe(0);
  });

  it("goes on in another process where the last one left", async () => {
    const db = join(cli.place, "resume.db");
    const first = cli.start(["chat", "--db", db, "--session", "one"]);
    first.screen.type("what is 1 + 1");
    expect(await first.finish()).toBe(0);
    const second = cli.start(["chat", "--db", db]);
    second.screen.type("/resume one", "what did I ask first?");
    expect(await second.finish()).toBe(0);
    expect(second.screen.shown).toContain("You said: what is 1 + 1");
  });

  it("aborts the answer at the first signal, keeps its beginning, and leaves at the next; the key is never shown", async () => {
    const { server, url, keys } = await hangingServer();
    const db = join(cli.place, "abort.db");
    const env = { OPENAI_API_KEY: "sk-very-secret", OPENAI_BASE_URL: url, ENNEAD_MODEL: "m" };
    const run = cli.start(["chat", "--db", db, "--session", "tale"], env);
    run.screen.type("tell me");
    await run.screen.see("It was a dark ");
    run.interrupt();
    await run.screen.see("— aborted");
    // The chat goes on: a command is still answered.
    run.screen.type("/help");
    await run.screen.see("/quit");
    run.interrupt();
    expect(await run.ended).toBe(130);
    server.closeAllConnections();
    server.close();
    expect(await stored(db, "tale")).toEqual(["user: tell me", "assistant (aborted): It was a dark "]);
    expect(keys).toEqual(["Bearer sk-very-secret"]);
    expect(run.screen.shown).not.toContain("sk-very-secret");
  });

  it("shows the error of a server that is not there, and goes on", async () => {
    const env = { OPENAI_API_KEY: "sk-very-secret", OPENAI_BASE_URL: "http://127.0.0.1:9/v1", ENNEAD_MODEL: "m" };
    const run = cli.start(["chat", "--db", join(cli.place, "down.db")], env);
    run.screen.type("hi", "/quit");
    expect(await run.finish()).toBe(0);
    expect(run.screen.shown).toContain("ModelError(transport)");
    expect(run.screen.shown).toContain("Bye.");
    expect(run.screen.shown).not.toContain("sk-very-secret");
  });

  it("writes an export for its owner only and never over a file", async () => {
    const run = cli.start(["chat", "--db", join(cli.place, "export.db")]);
    run.screen.type("hi", "/export out.json", "/export out.json");
    expect(await run.finish()).toBe(0);
    expect(statSync(join(cli.place, "out.json")).mode & 0o777).toBe(0o600);
    expect(run.screen.shown).toContain("written to");
    expect(run.screen.shown).toContain("CommandError(execution-failed): export");
  });

  it.each([
    [["--nope"], "Unknown option '--nope'"],
    [["talk"], 'there is no command "talk"'],
    [[], "name a command"],
    [["chat", "--root", "missing"], "--root: there is no folder"],
  ])("ends with 2 and a reason for %j, before anything is made", async (args, reason) => {
    const data = join(cli.place, "unused");
    const run = cli.start(args, { XDG_DATA_HOME: data });
    expect(await run.finish()).toBe(2);
    expect(run.screen.shown).toContain(reason);
    expect(run.screen.shown).toContain("Try: ennead --help");
    expect(existsSync(data)).toBe(false);
  });

  it("tells its version and its flags", async () => {
    const version = cli.start(["--version"]);
    expect(await version.finish()).toBe(0);
    expect(version.screen.shown).toBe("9.8.7\n");
    const help = cli.start(["--help"]);
    expect(await help.finish()).toBe(0);
    for (const flag of ["--model", "--base-url", "--session", "--db", "--root", "--offline"])
      expect(help.screen.shown).toContain(flag);
  });
});
