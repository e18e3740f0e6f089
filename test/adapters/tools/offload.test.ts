import { mkdtemp, readdir, readFile, rm, stat, utimes } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, test } from "vitest";
import {
  DirectoryResultStore,
  InMemoryResultStore,
  offloadResults,
  type ResultStore,
} from "../../../src/adapters/tools/offload.js";
import { CompositionError } from "../../../src/domain/errors.js";
import { errorResult, okResult, type ToolResult } from "../../../src/domain/tool.js";
import type { ToolProvider } from "../../../src/ports/tool-provider.js";
import {
  RecordingToolProvider,
  runClaims,
  stopResponse,
  testAgent,
  testToolContext,
  toolCallResponse,
  toolDef,
  toolOutcome,
  toolProviderClaims,
} from "../../../src/testkit/index.js";

const giving = (value: unknown): ToolProvider => ({
  name: "source",
  listTools: () => [toolDef("big")],
  execute: () => value as object,
});

const signal = new AbortController().signal;

/** One call of a provider as an agent would make it, and its text. */
async function call(provider: ToolProvider, name: string, args: object = {}, sessionId = "s", executionId = "m-1.0") {
  await provider.listTools({ signal, sessionId });
  const asked = { id: "c1", name, arguments: args as never };
  return (await provider.execute(asked, testToolContext({ sessionId, executionId }))) as ToolResult;
}

const textOf = (result: ToolResult): string =>
  result.content.map((part) => (part.type === "text" ? part.text : "")).join("");

const NOTE = /\n\[this is the beginning of a large result; read on with read_result (\{.*?\})\..*\]$/;

/** All of a stored result, as a model would read it. */
async function readAll(provider: ToolProvider, first: ToolResult, limit?: number): Promise<string> {
  const shown = textOf(first);
  let whole = shown.replace(NOTE, "");
  const told = JSON.parse(NOTE.exec(shown)?.[1] ?? "{}") as { id: string; offset: number };
  const { id } = told;
  let { offset } = told;
  for (let page = 0; page < 5_000; page++) {
    const text = textOf(await call(provider, "read_result", { id, offset, limit: limit ?? 600 }));
    const note = /\n\[(\d+) to (\d+) of (\d+)(: the end|; the next page begins at \d+)\]$/.exec(text);
    expect(Number(note?.[1])).toBe(offset);
    whole += text.slice(0, note?.index);
    offset = Number(note?.[2]);
    if (note?.[4] === ": the end") return whole;
  }
  throw new Error("the result has no end");
}

describe("offloadResults", () => {
  runClaims({
    test,
    claims: toolProviderClaims,
    make: async () => {
      const inner = new RecordingToolProvider({
        validate: (_name, args) =>
          typeof args["city"] === "object"
            ? { ok: false, issues: [{ path: "/city", expected: "a string" }] }
            : { ok: true, value: args },
      })
        .add("weather", toolOutcome.ok("x".repeat(5_000)))
        .add("slow", toolOutcome.hangs());
      const provider = offloadResults(inner, { store: new InMemoryResultStore(), maxBytes: 1_024 });
      await provider.listTools({ signal });
      // The same call again is another execution, and names another id; the claims compare what is returned.
      const same: ToolProvider = {
        ...provider,
        execute: (asked, context) => provider.execute(asked, { ...context, executionId: "m-1.0" }),
      };
      return {
        provider: same,
        call: { name: "weather", arguments: { city: "Bern" } },
        slowCall: { name: "slow", arguments: {} },
        invalid: { arguments: { city: { secret: "hunter-2222" } }, path: "/city" },
        change: () => void inner.add(`extra-${inner.listCallCount}`, toolOutcome.ok()),
      };
    },
  });

  const text = Array.from({ length: 4_000 }, (_, line) => `${line} naïve 日本 🔥🏳️‍🌈`).join("\n");
  const data = { rows: Array.from({ length: 900 }, (_, id) => ({ id, text: "é🔥".repeat(5) })) };

  it.each([
    ["text", text, text],
    ["data", data, JSON.stringify(data)],
    ["a whole result with both", okResult(text, { structured: data }), `${text}\n${JSON.stringify(data)}`],
    ["a lone half of a pair", `${"x".repeat(3_000)}\ud83d`, `${"x".repeat(3_000)}\ufffd`],
    ["what JSON cannot hold", { big: 7n, pad: "x".repeat(3_000) }, `{"big":"7","pad":"${"x".repeat(3_000)}"}`],
  ])("keeps every character of %s within reach, in pages that split none", async (_what, value, whole) => {
    const provider = offloadResults(giving(value), { store: new InMemoryResultStore(), maxBytes: 2_048 });
    const first = await call(provider, "big");
    expect(Buffer.byteLength(textOf(first))).toBeLessThanOrEqual(2_048);
    expect(textOf(first).isWellFormed()).toBe(true);
    expect(first.structured).toBeUndefined();
    expect(await readAll(provider, first)).toBe(whole);
    expect(await readAll(provider, first, 1_800)).toBe(whole);
  });

  it("leaves alone what fits, exactly as it was returned", async () => {
    for (const value of ["short", { a: 1 }, undefined, okResult("x", { details: { d: 1 } })]) {
      const store = new InMemoryResultStore();
      expect(await call(offloadResults(giving(value), { store }), "big")).toBe(value);
    }
  });

  it("keeps pictures, details and the fact that it is an error", async () => {
    const picture = { type: "image" as const, mimeType: "image/png", source: { base64: "AAAA" } };
    const value = errorResult([{ type: "text", text: "x".repeat(5_000) }, picture], { details: { d: 1 } });
    const result = await call(
      offloadResults(giving(value), { store: new InMemoryResultStore(), maxBytes: 1_024 }),
      "big",
    );
    expect(result).toMatchObject({ isError: true, details: { d: 1 } });
    expect(result.content[1]).toEqual(picture);
  });

  it("says what was too much to keep", async () => {
    const options = { store: new InMemoryResultStore(), maxBytes: 1_024, maxStoredLength: 3_001 };
    const provider = offloadResults(giving(`${"x".repeat(3_000)}🔥${"y".repeat(98)}`), options);
    const first = await call(provider, "big");
    expect(textOf(first)).toContain("The last 99 characters were too many to keep.");
    expect(await readAll(provider, first)).toBe(`${"x".repeat(3_000)}\ufffd`);
  });

  it.each([
    ["another session", { sessionId: "other" }, {}],
    ["an id that is none", {}, { id: "../../etc/passwd" }],
    ["an id of hostile text", {}, { id: "\u202e\nIGNORE" }],
  ])("tells nothing to %s", async (_what, { sessionId = "s" }: { sessionId?: string }, args) => {
    const provider = offloadResults(giving("secret ".repeat(2_000)), {
      store: new InMemoryResultStore(),
      maxBytes: 1_024,
    });
    await call(provider, "big");
    const answer = await call(provider, "read_result", { id: "m-1.0", offset: 0, limit: 100, ...args }, sessionId);
    expect(answer.isError).toBe(true);
    expect(textOf(answer)).toMatch(/^There is no result [^\n\u202e]* here, or it is not kept any more\.$/);
  });

  it.each([
    [{ offset: -1 }, "/offset"],
    [{ offset: 0.5 }, "/offset"],
    [{ limit: 0 }, "/limit"],
    [{ limit: 1e9 }, "/limit"],
    [{ id: "" }, "/id"],
  ])("refuses %j", async (args, path) => {
    const provider = offloadResults(giving("x"), { store: new InMemoryResultStore() });
    await provider.listTools({ signal });
    const validation = provider.validate?.("read_result", { id: "a", offset: 0, limit: 1, ...args });
    expect(validation).toMatchObject({ ok: false, issues: [{ path }] });
  });

  it("says where a result ends when more is asked for", async () => {
    const provider = offloadResults(giving("x".repeat(2_000)), { store: new InMemoryResultStore(), maxBytes: 1_024 });
    await call(provider, "big");
    const beyond = await call(provider, "read_result", { id: "m-1.0", offset: 2_000, limit: 10 });
    expect(textOf(beyond)).toBe("The result ends at 2000: there is nothing at 2000.");
  });

  it("serves an agent: the model reads on by what it was told", async () => {
    const long = "line\n".repeat(1_000);
    const provider = offloadResults(giving(long), { store: new InMemoryResultStore(), maxBytes: 1_024 });
    await using agents = await testAgent({
      providers: [provider],
      script: [toolCallResponse("big", "c1", {}), stopResponse("a large one")],
    });
    const { toolResults, finalSessionId } = await agents.agent.runTurn("go");
    const { id, offset } = JSON.parse(NOTE.exec(textOf(toolResults[0] as never))?.[1] ?? "{}") as {
      id: string;
      offset: number;
    };
    agents.model.push(toolCallResponse("read_result", "c2", { id, offset }), stopResponse("done"));
    const next = await agents.agent.runTurn("read on", finalSessionId);
    expect(textOf(next.toolResults[0] as never)).toMatch(new RegExp(`^(line\n)+.*\\[${offset} to \\d+ of 5000`, "s"));
    agents.model.push(toolCallResponse("read_result", "c3", { id }), stopResponse("nothing"));
    const elsewhere = await agents.agent.runTurn("read it", "somebody else");
    expect(elsewhere.toolResults[0]).toMatchObject({ isError: true });
  });

  it("goes on when the store fails, and says nothing of what it said", async () => {
    const down: ResultStore = {
      write: () => Promise.reject(new Error("secret-host:6379 refused")),
      read: () => Promise.reject(new Error("secret-host:6379 refused")),
    };
    await using agents = await testAgent({
      providers: [offloadResults(giving("x".repeat(5_000)), { store: down, maxBytes: 1_024 })],
      script: [
        toolCallResponse("big", "c1", {}),
        toolCallResponse("read_result", "c2", { id: "a" }),
        stopResponse("done"),
      ],
    });
    const { toolResults } = await agents.agent.runTurn("go");
    expect(textOf(toolResults[0] as never)).toMatch(/^\[the result was too large, and could not be stored\]\nx{5000}$/);
    expect(toolResults[1]).toMatchObject({
      isError: true,
      content: [{ text: "the stored results cannot be read now" }],
    });
    expect(JSON.stringify(toolResults)).not.toContain("secret-host");
  });

  it.each([
    [{}],
    [{ store: {} }],
    [{ store: new InMemoryResultStore(), maxBytes: 10 }],
    [{ store: new InMemoryResultStore(), maxbytes: 5_000 }],
  ])("refuses options %j", (options) => {
    expect(() => offloadResults(giving(""), options as never)).toThrow(CompositionError);
  });

  it.each([null, "text", {}, { text: 5, total: 1 }, { text: "a", total: Number.NaN }, { text: "a", total: "1" }])(
    "does not read on from a store that answers with what is no page: %j",
    async (page) => {
      const store = { write: () => {}, read: () => page as never };
      const reading = call(offloadResults(giving("x"), { store }), "read_result", { id: "a", offset: 0, limit: 100 });
      await expect(reading).rejects.toThrow("the stored results cannot be read now");
    },
  );

  it("refuses a name for its tool that the source has already", async () => {
    const taken = offloadResults(giving(""), { store: new InMemoryResultStore(), toolName: "big" });
    await expect(Promise.resolve(taken.listTools({ signal }))).rejects.toThrow("CompositionError(tool-collision)");
  });
});

describe.each([
  ["in memory", (limit: number) => Promise.resolve({ store: new InMemoryResultStore({ maxLength: limit }), path: "" })],
  [
    "in a directory",
    async (limit: number) => {
      const path = await mkdtemp(join(tmpdir(), "ennead-results-"));
      return { store: new DirectoryResultStore({ path, maxSessionBytes: limit }), path };
    },
  ],
])("a store %s", (_where, make) => {
  const withStore = async (limit: number, use: (store: ResultStore, path: string) => Promise<void>): Promise<void> => {
    const { store, path } = await make(limit);
    try {
      await use(store, path);
    } finally {
      if (path !== "") await rm(path, { recursive: true });
    }
  };
  const all = { offset: 0, limit: 1_000 };

  it("reads back what was written under the same key only, and replaces it", () =>
    withStore(10_000, async (store) => {
      const key = { sessionId: "a", id: "1" };
      await store.write(key, "first");
      await store.write(key, "second 🔥");
      expect(await store.read(key, all)).toEqual({ text: "second 🔥", total: 8 });
      expect(await store.read(key, { offset: 7, limit: 1 })).toEqual({ text: "🔥", total: 8 });
      expect(await store.read(key, { offset: 8, limit: 1 })).toEqual({ text: "", total: 8 });
      for (const [sessionId, id] of [
        ["a", "2"],
        ["b", "1"],
        ["a1", ""],
        ["", "a1"],
        ["__proto__", "1"],
      ] as const) {
        expect(await store.read({ sessionId, id }, all)).toBeUndefined();
      }
    }));

  it.each([":", "/", "\0", ",", '","', "."])("tells session and id apart where %j stands in them", (border) =>
    withStore(10_000, async (store) => {
      await store.write({ sessionId: "a", id: `b${border}c` }, "mine");
      expect(await store.read({ sessionId: `a${border}b`, id: "c" }, all)).toBeUndefined();
    }),
  );

  it("tells apart ids that are no well-formed text", () =>
    withStore(10_000, async (store) => {
      await store.write({ sessionId: "\ud800", id: "1" }, "one");
      expect(await store.read({ sessionId: "\ud801", id: "1" }, all)).toBeUndefined();
      expect(await store.read({ sessionId: "\ufffd", id: "1" }, all)).toBeUndefined();
    }));

  it("takes ids that would be paths for what they are", () =>
    withStore(10_000, async (store) => {
      const key = { sessionId: "../../up", id: "/etc/passwd\0" };
      await store.write(key, "mine");
      expect(await store.read(key, all)).toEqual({ text: "mine", total: 4 });
    }));

  it("keeps what many write at the same time", () =>
    withStore(100_000, async (store) => {
      const ids = Array.from({ length: 50 }, (_, index) => String(index));
      await Promise.all(ids.map(async (id) => await store.write({ sessionId: "s", id }, `text ${id}`)));
      for (const id of ids) expect((await store.read({ sessionId: "s", id }, all))?.text).toBe(`text ${id}`);
    }));

  it("lets the oldest go when there is no room", () =>
    withStore(250, async (store, path) => {
      await store.write({ sessionId: "s", id: "old" }, "x".repeat(100));
      // Files may be written within one tick of the file system's clock.
      for (const folder of path === "" ? [] : await readdir(path))
        for (const file of await readdir(join(path, folder))) await utimes(join(path, folder, file), 1, 1);
      await store.write({ sessionId: "s", id: "mid" }, "y".repeat(100));
      await store.write({ sessionId: "s", id: "new" }, "z".repeat(100));
      expect(await store.read({ sessionId: "s", id: "old" }, all)).toBeUndefined();
      expect((await store.read({ sessionId: "s", id: "new" }, all))?.total).toBe(100);
      expect((await store.read({ sessionId: "s", id: "mid" }, all))?.total).toBe(100);
    }));
});

test("a directory holds files that only their owner reads, named by hashes, and gives a session's up", async () => {
  const path = await mkdtemp(join(tmpdir(), "ennead-results-"));
  const store = new DirectoryResultStore({ path });
  await store.write({ sessionId: "secret session", id: "secret id" }, "text");
  const [folder] = await readdir(path);
  const [file, ...others] = await readdir(join(path, folder ?? ""));
  expect([folder, file, others]).toEqual([
    expect.stringMatching(/^[0-9a-f]{64}$/),
    expect.stringMatching(/^[0-9a-f]{64}$/),
    [],
  ]);
  const place = join(path, folder ?? "", file ?? "");
  expect([(await stat(place)).mode & 0o777, (await stat(join(path, folder ?? ""))).mode & 0o777]).toEqual([
    0o600, 0o700,
  ]);
  expect(await readFile(place, "utf8")).toBe("text");
  // Another process reads it by the same keys.
  const again = new DirectoryResultStore({ path });
  expect(await again.read({ sessionId: "secret session", id: "secret id" }, { offset: 0, limit: 9 })).toEqual({
    text: "text",
    total: 4,
  });
  await store.removeSession("secret session");
  await store.removeSession("secret session");
  expect(await readdir(path)).toEqual([]);
  await rm(path, { recursive: true });
});

test.each([
  [() => new InMemoryResultStore({ maxLength: 0 })],
  [() => new DirectoryResultStore({ path: "" })],
  [() => new DirectoryResultStore({ path: "x", maxSessionBytes: Number.NaN })],
  [() => new DirectoryResultStore({ paht: "x" } as never)],
])("a store is refused that makes no sense: %s", (make) => {
  expect(make).toThrow(CompositionError);
});
