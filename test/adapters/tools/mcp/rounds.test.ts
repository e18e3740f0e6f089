import { createMcpHandler, inputRequired, Server, type ServerContext } from "@modelcontextprotocol/server";
import { testRuntime } from "ennead/testkit";
import type { ElicitationRequest, McpToolProviderOptions } from "ennead/tools/mcp";
import { describe, expect, test } from "vitest";
import { hostile, named, started, type Started } from "../../../support/hostile-mcp.js";

const requestedSchema = { type: "object", properties: { age: { type: "integer", minimum: 18 } }, required: ["age"] };
const form = { method: "elicitation/create", params: { mode: "form", message: "How old?", requestedSchema } };
const page = { method: "elicitation/create", params: { mode: "url", message: "Sign in.", url: "https://a.example/" } };
const required = (rest: object) => ({ result: { resultType: "input_required", ...rest } });

/** A server of 2026 whose tool `f` answers so first. */
const open = (first: readonly object[], options: Partial<McpToolProviderOptions> = {}): Promise<Started> =>
  started({
    servers: {
      s: {
        ...hostile({ modern: true, tools: named("f", "die", "log"), inTurn: { f: first } }),
        timeoutMs: options.runtime && 1_000,
      },
    },
    ...options,
  });

type Asked = { readonly id: number; readonly method: string; readonly params: Record<string, unknown> };

/** The calls of `f`, as the server got them. */
async function calls(s: Started): Promise<readonly Asked[]> {
  const log = JSON.parse(await s.text("s__log")) as readonly Asked[];
  return log.filter(({ method, params }) => method === "tools/call" && params["name"] === "f");
}

describe("a server that wants to know something before it answers", () => {
  test("is asked again with what the user said and its own state, and answers then", async () => {
    const requests: ElicitationRequest[] = [];
    const progress: unknown[] = [];
    await using s = await open([required({ inputRequests: { age: form, page }, requestState: "\0 opaque" })], {
      onElicitation: (request) => {
        requests.push(request);
        return request.mode === "url" ? { action: "decline" } : { action: "accept", content: { age: 44 } };
      },
    });
    expect(await s.text("s__f", { a: 1 }, { progress: (partial) => void progress.push(partial) })).toBe("called f");
    expect(requests.map(({ server, mode, message }) => [server, mode, message])).toEqual([
      ["s", "form", "How old?"],
      ["s", "url", "Sign in."],
    ]);
    const [first, second, ...more] = await calls(s);
    expect(more).toEqual([]);
    expect(second?.id).not.toBe(first?.id);
    expect(first?.params).toMatchObject({ arguments: { a: 1 } });
    expect(second?.params).toMatchObject({
      arguments: { a: 1 },
      inputResponses: { age: { action: "accept", content: { age: 44 } }, page: { action: "decline" } },
      requestState: "\0 opaque",
    });
    expect(progress).toEqual([]);
  });

  test("is told that nobody can be asked where that is so", async () => {
    await using s = await open([required({ inputRequests: { age: form } })]);
    expect(await s.text("s__f")).toBe("called f");
    const [, second] = await calls(s);
    expect(second?.params["inputResponses"]).toEqual({ age: { action: "decline" } });
    expect(second?.params).not.toHaveProperty("requestState");
  });

  test("and asks for what cannot be asked, or cannot be shown, is told so without asking anybody", async () => {
    const odd = { method: "elicitation/create", params: { mode: "hologram" } };
    const script = { method: "elicitation/create", params: { ...page.params, url: "javascript:alert(1)" } };
    await using s = await open([required({ inputRequests: { odd, script, bare: { method: "elicitation/create" } } })], {
      onElicitation: () => Promise.reject(new Error("somebody is asked")),
    });
    expect(await s.text("s__f")).toBe("called f");
    const [, second] = await calls(s);
    const decline = { action: "decline" };
    expect(second?.params["inputResponses"]).toEqual({ odd: decline, script: decline, bare: decline });
  });

  test.each([
    ["a model", { age: form, model: { method: "sampling/createMessage" } }, "asks for sampling/createMessage"],
    ["folders", { age: form, roots: { method: "roots/list" } }, "asks for roots/list"],
    ["what is no request", { age: form, no: 7 }, "wants to know what is no request"],
    ["no list of requests", [form], "wants to know what is no list of requests"],
    ["nothing", {}, "wants to know more, and does not say what"],
  ])("but asks for %s fails its call, which is known not to be done, and asks nobody", async (_, wanted, reason) => {
    let asked = 0;
    await using s = await open([required({ inputRequests: wanted })], {
      onElicitation: () => ({ action: (asked += 1) > 0 ? "cancel" : "decline" }),
    });
    await expect(s.call("s__f")).rejects.toMatchObject({
      kind: "invocation-failed",
      message: expect.stringContaining(`server "s": it ${reason}`) as string,
    });
    expect(asked).toBe(0);
    expect(await s.text("s__f")).toBe("called f");
  });

  test("without end fails its call after ten rounds", async () => {
    await using s = await open(Array.from({ length: 50 }, () => required({ inputRequests: { age: form } })));
    expect(await s.text("s__f")).toMatch("it still wants to know more after 10 rounds");
    expect(await calls(s)).toHaveLength(11);
  });

  test("answers of a type nobody knows fail their call", async () => {
    await using s = await open([{ result: { resultType: "task", taskId: "1" } }]);
    expect(await s.text("s__f")).toMatch('server "s": the answer is of the type task, which is not supported');
  });

  test("and wants nothing to be known is asked again after a rest, which is a sign of life", async () => {
    const runtime = testRuntime();
    let resting = Promise.withResolvers<void>();
    const told = {
      elapsed: runtime.elapsed,
      after: (ms: number, fn: () => void) => {
        if (ms === 250) resting.resolve();
        return runtime.after(ms, fn);
      },
    };
    const rests = Array.from({ length: 6 }, () => required({ requestState: "later" }));
    await using s = await open(rests, { runtime: told });
    const call = s.text("s__f");
    for (const _ of rests) {
      await resting.promise;
      resting = Promise.withResolvers();
      await runtime.advance(250);
    }
    expect(await call).toBe("called f");
    expect(runtime.elapsed()).toBeGreaterThan(1_000);
    expect((await calls(s)).map(({ params }) => params["requestState"])).toEqual([
      undefined,
      ...Array(6).fill("later"),
    ]);
  });

  test("waits for the user, whose time the call is not charged with", async () => {
    const runtime = testRuntime();
    const asking = Promise.withResolvers<void>();
    const answered = Promise.withResolvers<{ action: "cancel" }>();
    await using s = await open([required({ inputRequests: { age: form } })], {
      runtime,
      onElicitation: () => {
        asking.resolve();
        return answered.promise;
      },
    });
    const call = s.text("s__f");
    await asking.promise;
    await runtime.advance(60_000);
    answered.resolve({ action: "cancel" });
    expect(await call).toBe("called f");
  });

  const asking = async (options: Partial<McpToolProviderOptions> = {}) => {
    const question = Promise.withResolvers<AbortSignal>();
    const s = await open([required({ inputRequests: { age: form } })], {
      onElicitation: ({ signal }) => {
        question.resolve(signal);
        return Promise.withResolvers<never>().promise;
      },
      ...options,
    });
    return { s, question: question.promise };
  };

  test("is not asked again once the turn is aborted, and the user no longer asked", async () => {
    const { s, question } = await asking();
    await using _ = s;
    const turn = new AbortController();
    const call = s.text("s__f", {}, { signal: turn.signal });
    const signal = await question;
    turn.abort();
    expect(await call).toMatch("was aborted");
    expect(signal.aborted).toBe(true);
    expect(await calls(s)).toHaveLength(1);
  });

  test("and dies meanwhile fails its call, and the user is no longer asked", async () => {
    const { s, question } = await asking();
    await using _ = s;
    const call = s.text("s__f");
    const signal = await question;
    expect(await s.text("s__die")).toMatch("went away");
    expect(await call).toMatch(/^ToolError\(transport\)/);
    expect(signal.aborted).toBe(true);
  });

  test("quotes no secret in what it asks for", async () => {
    const inputRequests = { a: { method: "hunter-2222" } };
    const how = { modern: true, tools: named("f"), inTurn: { f: [required({ inputRequests })] } };
    await using s = await started({ servers: { s: { ...hostile(how), env: { SECRET: "hunter-2222" } } } });
    expect(await s.text("s__f")).toMatch("it asks for [secret], which");
  });
});

test("a server made with the SDK is told what the user said, and what it wanted to remember, for tools and resources", async () => {
  const wanted = inputRequired({
    inputRequests: {
      name: inputRequired.elicit({ message: "Who?", requestedSchema: { type: "object", properties: {} } }),
    },
    requestState: "remember",
  });
  const told = (context: ServerContext): string =>
    JSON.stringify([context.mcpReq.inputResponses, context.mcpReq.requestState()]);
  const handler = createMcpHandler(() => {
    const server = new Server({ name: "sdk", version: "1" }, { capabilities: { tools: {}, resources: {} } });
    server.setRequestHandler("tools/list", () => ({ tools: [{ name: "f", inputSchema: { type: "object" } }] }));
    server.setRequestHandler("tools/call", (_, context) =>
      context.mcpReq.inputResponses === undefined ? wanted : { content: [{ type: "text", text: told(context) }] },
    );
    server.setRequestHandler("resources/read", ({ params: { uri } }, context) =>
      context.mcpReq.inputResponses === undefined ? wanted : { contents: [{ uri, text: told(context) }] },
    );
    return server;
  });
  await using s = await started({
    servers: {
      s: {
        url: "http://localhost/mcp",
        protocol: "auto",
        fetch: (input, init) => handler.fetch(new Request(input, init)),
      },
    },
    resources: true,
    onElicitation: () => ({ action: "accept", content: { name: "Ann" } }),
  });
  const heard = '[{"name":{"action":"accept","content":{"name":"Ann"}}},"remember"]';
  expect(await s.text("s__f")).toBe(heard);
  expect(await s.text("s__read_resource", { uri: "mem://1" })).toBe(`[mem://1]\n${heard}`);
  await handler.close();
});

describe("a server that refuses until an address was visited", () => {
  const elicitations = [{ url: "https://a.example/", message: "Sign in.", elicitationId: "e1" }];
  const refusal = { error: { code: -32042, message: "sign in first", data: { elicitations } } };
  const open = (first: readonly object[], onElicitation: McpToolProviderOptions["onElicitation"]) =>
    started({ servers: { s: hostile({ tools: named("f", "log"), inTurn: { f: first } }) }, onElicitation });

  test("is asked again when the user agrees", async () => {
    const requests: ElicitationRequest[] = [];
    await using s = await open([refusal, refusal], (request) => {
      requests.push(request);
      return { action: "accept" };
    });
    expect(await s.text("s__f")).toBe("called f");
    expect(requests).toMatchObject(Array(2).fill({ mode: "url", url: "https://a.example/", elicitationId: "e1" }));
    expect(await calls(s)).toHaveLength(3);
  });

  test.each<[string, McpToolProviderOptions["onElicitation"], readonly unknown[]]>([
    ["the user declines", () => ({ action: "decline" }), elicitations],
    ["nobody can be asked", undefined, elicitations],
    ["it names none", () => ({ action: "accept" }), []],
    ["it names what is none", () => ({ action: "accept" }), ["https://a.example/", null]],
  ])("fails its call with its own words where %s", async (_, handler, named) => {
    const error = { ...refusal.error, data: { elicitations: named } };
    await using s = await open([{ error }], handler);
    expect(await s.text("s__f")).toBe('ToolError(invocation-failed): server "s": sign in first');
    expect(await calls(s)).toHaveLength(1);
  });

  test("for ever fails its call after ten rounds", async () => {
    await using s = await open(
      Array.from({ length: 50 }, () => refusal),
      () => ({ action: "accept" }),
    );
    expect(await s.text("s__f")).toMatch("sign in first");
    expect(await calls(s)).toHaveLength(11);
  });
});
