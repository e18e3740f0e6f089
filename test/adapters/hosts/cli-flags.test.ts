import { describe, expect, it } from "vitest";
import { chatSettings, type Surroundings } from "../../../src/adapters/hosts/chat-settings.js";
import { parseCli } from "../../../src/adapters/hosts/cli-flags.js";
import { nodeComplaint } from "../../../src/adapters/hosts/node-version.js";

describe("parseCli", () => {
  it("reads the flags of a chat", () => {
    const flags = ["chat", "--model", "m", "--base-url=http://x/v1", "--session", "s", "--db", "d", "--root", "r"];
    expect(parseCli(flags)).toEqual({
      ok: true,
      value: { type: "chat", offline: false, model: "m", baseUrl: "http://x/v1", session: "s", db: "d", root: "r" },
    });
    expect(parseCli(["chat"])).toEqual({ ok: true, value: { type: "chat", offline: false } });
  });

  it("reads the flags of a check", () => {
    expect(parseCli(["check", "a.ts", "--only", "x", "--only=y", "--timeout", "5", "--json"])).toEqual({
      ok: true,
      value: { type: "check", module: "a.ts", only: ["x", "y"], timeoutMs: 5, json: true },
    });
    const value = { type: "check", module: "a.ts", only: [], timeoutMs: 30_000, json: false };
    expect(parseCli(["check", "a.ts"])).toEqual({ ok: true, value });
  });

  it("answers help and version before anything else", () => {
    expect(parseCli(["--help"])).toEqual({ ok: true, value: { type: "help" } });
    expect(parseCli(["chat", "-h"])).toEqual({ ok: true, value: { type: "help" } });
    expect(parseCli(["--version"])).toEqual({ ok: true, value: { type: "version" } });
  });

  it.each([
    [[], "name a command: ennead chat, or ennead check"],
    [["chat", "--nope"], "Unknown option '--nope'"],
    [["talk"], 'there is no command "talk"'],
    [["chat", "hello", "there"], '"hello there" is too much: the chat reads messages from its input'],
    [["chat", "--db="], "--db is empty"],
    [["check"], "name the module to check: ennead check FILE"],
    [["check", ""], "name the module to check: ennead check FILE"],
    [["check", "a", "b"], '"b" is too much: one module is checked at a time'],
    [["check", "a", "--only="], "--only is empty"],
    [["check", "a", "--timeout=1.5"], "--timeout is a whole number of milliseconds above 0"],
    [["check", "a", "--db", "d"], "--db is no flag of check"],
    [["chat", "--only", "x"], "--only is no flag of chat"],
  ])("refuses %j", (args, reason) => {
    expect(parseCli(args)).toEqual({ ok: false, reason });
  });

  it.each([[["chat", "--nope"]], [["chat", "--db"]], [["chat", "--offline=yes"]]])("names the flag in %j", (args) => {
    const parsed = parseCli(args);
    expect(parsed.ok ? "" : parsed.reason).toMatch(/--(nope|db|offline)/);
  });
});

describe("chatSettings", () => {
  const at = (env: Surroundings["env"]): Surroundings => ({ env, cwd: "/somewhere", home: "/home/me" });
  const none = { type: "chat", offline: false } as const;

  it("takes the offline demo and the usual place without flags and environment", () => {
    expect(chatSettings(none, at({}))).toEqual({
      ok: true,
      value: { db: "/home/me/.local/share/ennead/sessions.db", root: "/somewhere" },
    });
  });

  it("keeps sessions below XDG_DATA_HOME where that is absolute", () => {
    const dbOf = (xdg: string): string | undefined => {
      const settings = chatSettings(none, at({ XDG_DATA_HOME: xdg }));
      return settings.ok ? settings.value.db : undefined;
    };
    expect(dbOf("/data")).toBe("/data/ennead/sessions.db");
    expect(dbOf("data")).toBe("/home/me/.local/share/ennead/sessions.db");
  });

  it("takes a server with a key, and lets flags win over the environment", () => {
    const env = { OPENAI_API_KEY: "k", OPENAI_BASE_URL: "http://env/v1", ENNEAD_MODEL: "env" };
    const server = (flags: object, from: Surroundings["env"] = env): unknown => {
      const settings = chatSettings({ ...none, ...flags }, at(from));
      return settings.ok ? settings.value.server : settings.reason;
    };
    expect(server({})).toEqual({ model: "env", baseUrl: "http://env/v1", apiKey: "k" });
    expect(server({ model: "m", baseUrl: "https://x/v1" })).toEqual({
      model: "m",
      baseUrl: "https://x/v1",
      apiKey: "k",
    });
    expect(server({}, { OPENAI_API_KEY: "k" })).toEqual({ model: "gpt-4.1-mini", apiKey: "k" });
    expect(server({ offline: true })).toBeUndefined();
    expect(server({}, { OPENAI_API_KEY: "  ", OPENAI_BASE_URL: "" })).toBeUndefined();
  });

  it("takes a server of one's own without a key", () => {
    const settings = chatSettings({ ...none, baseUrl: "http://localhost:11434/v1", model: "m" }, at({}));
    expect(settings.ok && settings.value.server).toEqual({ model: "m", baseUrl: "http://localhost:11434/v1" });
  });

  it.each([
    ["http://localhost/v1", undefined, "name the model of this server"],
    ["not an address", "m", "is no web address"],
    ["file:///etc/passwd", "m", "is neither http nor https"],
    ["https://me:hunter2@x/v1", "m", "must not hold a user name or password"],
  ])("refuses the address %s with model %s, quoting none of it", (baseUrl, model, reason) => {
    const settings = chatSettings({ ...none, baseUrl, ...(model !== undefined && { model }) }, at({}));
    expect(settings.ok ? "" : settings.reason).toContain(reason);
    expect(settings.ok ? "" : settings.reason).not.toContain("hunter2");
  });
});

describe("nodeComplaint", () => {
  it("names both versions for a Node that is too old, and nothing else", () => {
    expect(nodeComplaint("20.19.0")).toBe("ennead needs Node.js 22.18 or newer; this is 20.19.0.");
    expect(nodeComplaint("22.17.1")).toBeDefined();
    for (const version of ["22.18.0", "22.20.1", "24.0.0", "25.0.0-nightly"])
      expect(nodeComplaint(version)).toBeUndefined();
  });
});
