import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { setImmediate } from "node:timers/promises";
import { testRuntime } from "ennead/testkit";
import type { McpAddress } from "ennead/tools/mcp";
import { describe, expect, test } from "vitest";
import { started } from "../../../support/hostile-mcp.js";
import { PATIENCE_MS } from "../../../support/patience.js";
import { beginEvents, event, mcpOverHttp, said, type Seen, type TakeOver } from "../../../support/mcp-http.js";

const isCall = ({ message }: Seen): boolean => message?.method === "tools/call";

/** A started provider on a server whose first calls are taken over. */
async function web(takeOver?: TakeOver, options: Partial<McpAddress> = {}, more: object = {}) {
  const stack = new AsyncDisposableStack();
  const server = stack.use(await mcpOverHttp(takeOver));
  const s = stack.use(
    await started({ servers: { web: { url: server.url, ...options } }, closeGraceMs: PATIENCE_MS, ...more }),
  );
  return { server, ...s, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

/** Lets `takeOver` have the first call only. */
const firstCall = (takeOver: TakeOver): TakeOver => {
  let taken = false;
  return (seen, response, request) => {
    if (!isCall(seen) || taken) return false;
    taken = true;
    return takeOver(seen, response, request);
  };
};

describe("credentials", () => {
  test("are asked for each request, and once more when they were refused", async () => {
    let asked = 0;
    const stale = "token-that-is-stale";
    await using s = await web(
      (seen, response) => {
        if (seen.headers.authorization !== `Bearer ${stale}`) return false;
        response.writeHead(401).end(`refused ${stale}`);
        return true;
      },
      {
        authToken: async () => Promise.resolve((asked += 1) === 3 ? stale : `token-number-${asked}`),
        headers: { "x-tenant": "t1" },
      },
    );
    expect(await s.text("web__f")).toBe("called");
    expect(asked).toBeGreaterThan(4);
    const authorizations = s.server.seen.map(({ headers }) => headers.authorization);
    expect(new Set(authorizations).size).toBe(authorizations.length);
    expect(s.server.seen.every(({ headers }) => headers["x-tenant"] === "t1")).toBe(true);
  });

  test("that are none fail their own server alone", async () => {
    await using web = await mcpOverHttp();
    const servers = { none: { url: web.url, authToken: () => undefined as never }, web: { url: web.url } };
    await using s = await started({ servers });
    expect(await s.names()).toEqual(["web__f"]);
    expect(await s.event("failed")).toMatchObject({ server: "none", reason: expect.stringContaining("gave no text") });
  });

  test("that are refused for good are told without being quoted, wherever the server quotes them", async () => {
    const secret = "hunter-2222-token";
    await using s = await web(
      (seen, response) => {
        if (!isCall(seen)) return false;
        response.writeHead(seen.message?.id === 2 ? 401 : 500).end(`<h1>bad token ${secret}</h1>`);
        return true;
      },
      { authToken: secret, headers: { "x-api-key": "key-hunter-3333" } },
    );
    const texts = [await s.text("web__f"), await s.text("web__f")];
    expect(texts).toEqual([
      'ToolError(transport): server "web" could not be asked: it refused the credentials (401)',
      'ToolError(transport): server "web" could not be asked: it answered 500 Internal Server Error',
    ]);
    expect(JSON.stringify(s.events)).not.toContain("hunter");
  });

  test("that stand in a status, cut or with something in between, are not quoted either", async () => {
    const secret = `hunter-${"2".repeat(80)}`;
    await using s = await web(
      (seen, response) => {
        if (!isCall(seen)) return false;
        if (seen.message?.id === 2) response.writeHead(500, `Bad token ${secret}`).end();
        else {
          const error = { code: 1, message: `bad ${secret.slice(0, 3)}\u200b${secret.slice(3)}` };
          response.writeHead(200, { "content-type": "application/json" });
          response.end(JSON.stringify({ jsonrpc: "2.0", id: seen.message?.id, error }));
        }
        return true;
      },
      { authToken: secret },
    );
    expect([await s.text("web__f"), await s.text("web__f")]).toEqual([
      'ToolError(transport): server "web" could not be asked: it answered 500 Bad token [secret]',
      'ToolError(invocation-failed): server "web": bad [secret]',
    ]);
  });

  test.each([301, 302, 303, 307, 308])(
    "and arguments travel to no other origin (%i), whatever is asked for",
    async (status) => {
      await using other = await mcpOverHttp();
      const isOpen = ({ http, message }: Seen) =>
        http === "POST" && ["initialize", "notifications/initialized", "tools/list"].includes(message?.method ?? "");
      const redirected = new Set<string>();
      const streams = Promise.withResolvers<void>();
      await using s = await web(
        (seen, response) => {
          if (isOpen(seen)) return false;
          redirected.add(seen.message?.method ?? seen.http);
          if (seen.http === "GET") streams.resolve();
          response.writeHead(status, { location: other.url }).end();
          return true;
        },
        { authToken: "token-hunter-2222", headers: { "x-api-key": "key-hunter-3333" } },
      );
      await streams.promise;
      expect(await s.text("web__f", { secret: "argument" })).toMatch(`could not be asked: it answered ${status}`);
      await s.mcp.onShutdown();
      expect([...redirected].sort()).toEqual(["DELETE", "GET", "tools/call"]);
      expect(other.seen).toEqual([]);
    },
  );

  test("in an address become a header, and are quoted nowhere", async () => {
    await using server = await mcpOverHttp((seen, response) => {
      if (!isCall(seen)) return false;
      const quoted = `${seen.headers.authorization} hunter ä2 %C3%A4 query-hunter`;
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify({ jsonrpc: "2.0", id: seen.message?.id, error: { code: 1, message: quoted } }));
      return true;
    });
    const address = new URL(server.url);
    address.username = "hunter";
    address.password = "ä2-long";
    address.search = "?token=query-hunter";
    await using s = await started({ servers: { web: { url: address } } });
    const basic = Buffer.from("hunter:ä2-long").toString("base64");
    expect(server.seen.map(({ headers }) => headers.authorization)).toEqual(server.seen.map(() => `Basic ${basic}`));
    expect(await s.text("web__f")).toBe(
      'ToolError(invocation-failed): server "web": [secret] [secret] ä2 %C3%A4 [secret]',
    );
    server.stop();
    const texts = JSON.stringify([await s.text("web__f"), s.events]);
    expect(texts).toContain("could not be asked");
    expect(texts).not.toMatch(/hunter|ä2|token/);
  });

  test("that cannot be had, or be sent, are told without the words of who was asked", async () => {
    await using server = await mcpOverHttp();
    const fail = () => {
      throw new Error("no entry for hunter-2222 in the vault");
    };
    const servers = {
      fails: { url: server.url, authToken: fail },
      broken: { url: server.url, authToken: "hunter\n-2222" },
      short: { url: server.url, authToken: () => "hün" },
      spaced: { url: server.url, authToken: "open sesame" },
      trimmed: { url: server.url, authToken: "token-from-a-file\n" },
    };
    await using s = await started({ servers });
    expect(s.events.flatMap((event) => (event.type === "failed" ? [[event.server, event.reason]] : [])).sort()).toEqual(
      [
        ["broken", "authToken holds characters that no header can"],
        ["fails", "the function that is asked for authToken failed"],
        ["short", "authToken holds characters that no header can"],
      ],
    );
    expect(await s.names()).toEqual(["spaced__f", "trimmed__f"]);
    const sent = new Set(server.seen.map(({ headers }) => headers.authorization));
    expect(sent).toEqual(new Set(["Bearer open sesame", "Bearer token-from-a-file"]));
  });

  test("do not travel to another origin with a redirect, and do within their own", async () => {
    await using other = await mcpOverHttp();
    let target = "";
    await using s = await web(
      (seen, response, { url }) => {
        if (!isCall(seen) || url !== "/mcp") return false;
        response.writeHead(307, { location: target }).end();
        return true;
      },
      { headers: { "x-api-key": "key-hunter-3333" } },
    );
    target = other.url;
    expect(await s.text("web__f")).toMatch(/could not be asked: it answered 307/);
    expect(other.seen).toEqual([]);
    target = "/elsewhere";
    expect(await s.text("web__f")).toBe("called");
  });
});

describe("a session that the server has forgotten", () => {
  test("is begun anew, and the call is made once", async () => {
    await using s = await web();
    s.server.forget();
    expect(await s.text("web__f")).toBe("called");
    expect(s.server.seen.filter(isCall).map(({ headers }) => headers["mcp-session-id"])).toEqual([
      "session-1",
      "session-2",
    ]);
    expect(s.server.methods.filter((method) => method === "initialize")).toHaveLength(2);
  });

  test("is begun anew for all calls that run, also where the server says so to one after the other", async () => {
    const renewed = Promise.withResolvers<void>();
    let refused = 0;
    await using s = await web(async (seen) => {
      if (!isCall(seen)) return false;
      if (seen.headers["mcp-session-id"] === "session-2") renewed.resolve();
      else if ((refused += 1) > 1) await renewed.promise;
      return false;
    });
    s.server.forget();
    const calls = [s.text("web__f"), s.text("web__f"), s.text("web__f")];
    expect(await Promise.all(calls)).toEqual(["called", "called", "called"]);
    expect(s.server.methods.filter((method) => method === "initialize")).toHaveLength(2);
  });

  test("is begun anew once only", async () => {
    await using s = await web((seen, response) => {
      if (isCall(seen)) response.writeHead(404).end();
      return isCall(seen);
    });
    expect(await s.text("web__f")).toMatch(/it answered 404/);
    expect(s.server.seen.filter(isCall)).toHaveLength(2);
  });
});

describe("a stream", () => {
  test("that breaks off without an answer fails its call at once, and no later one", async () => {
    await using s = await web(
      firstCall((_, response) => {
        beginEvents(response);
        response.end(": nothing\n\n");
        return true;
      }),
    );
    expect(await s.text("web__f")).toBe(
      'ToolError(transport): server "web": the server ended the stream without an answer',
    );
    expect(await s.text("web__f")).toBe("called");
  });

  test.each([
    ["at once, again and again, waits its half second", 0, 500],
    ["in a hundred years waits a minute", 3_155_760_000_000, 60_000],
  ])("that wants to be resumed %s", async (_title, retry, waits) => {
    const runtime = testRuntime();
    const streams = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    let opened = 0;
    await using server = await mcpOverHttp((seen, response) => {
      if (seen.http !== "GET") return false;
      beginEvents(response);
      response.end(`retry: ${retry}\nid: e1\ndata: \n\n`);
      streams[opened]?.resolve();
      opened += 1;
      return true;
    });
    await using s = await started({ servers: { web: { url: server.url } }, runtime });
    await streams[0]?.promise;
    // As many round trips as it takes for the end of the stream to arrive.
    const settled = async () => {
      for (let call = 0; call < 20; call++) await s.call("web__f");
    };
    await settled();
    await runtime.advance(waits - 1);
    await settled();
    expect(opened).toBe(1);
    await runtime.advance(1);
    await streams[1]?.promise;
  });

  test("with what is no message says so in a line", async () => {
    await using s = await web(
      firstCall((seen, response) => {
        beginEvents(response);
        response.end(event({ id: seen.message?.id, rezult: 1 }));
        return true;
      }),
    );
    expect(await s.text("web__f")).toMatch(/the server ended the stream without an answer/);
    expect(await s.event("noise")).toMatchObject({ reason: "it sent what is no message of the protocol" });
  });

  test("that breaks off behind an event with an id is resumed there", async () => {
    let id: number | undefined;
    await using s = await web((seen, response) => {
      if (isCall(seen)) {
        id = seen.message?.id;
        beginEvents(response);
        response.end("retry: 1\nid: e1\ndata: \n\n");
        return true;
      }
      if (seen.http !== "GET" || seen.headers["last-event-id"] !== "e1") return false;
      beginEvents(response);
      response.end(event({ id, result: said("resumed") }, "e2"));
      return true;
    });
    expect(await s.text("web__f")).toBe("resumed");
  });

  test("that stays open behind the answer is heard for a second, and ended", async () => {
    const runtime = testRuntime();
    const ended = Promise.withResolvers<void>();
    let stream: ServerResponse | undefined;
    await using s = await web(
      firstCall((seen, response) => {
        stream = response.once("close", ended.resolve);
        beginEvents(response);
        response.write(event({ id: seen.message?.id, result: said("answered") }));
        return true;
      }),
      {},
      { runtime },
    );
    const changed = Promise.withResolvers<void>();
    s.mcp.onToolsChanged(changed.resolve);
    expect(await s.text("web__f")).toBe("answered");
    await runtime.advance(999);
    stream?.write(event({ method: "notifications/tools/list_changed" }));
    await changed.promise;
    await runtime.advance(1);
    await ended.promise;
    expect(await s.text("web__f")).toBe("called");
    expect(s.events.map(({ type }) => type)).toEqual(["connected"]);
  });

  test("may tell of changed tools", async () => {
    let notify: (() => void) | undefined;
    await using s = await web((seen, response) => {
      if (seen.http !== "GET") return false;
      beginEvents(response);
      notify = () => response.write(event({ method: "notifications/tools/list_changed" }));
      return true;
    });
    const changed = Promise.withResolvers<void>();
    s.mcp.onToolsChanged(changed.resolve);
    while (notify === undefined) await setImmediate();
    notify();
    await changed.promise;
    await s.list();
    expect(s.server.methods.filter((method) => method === "tools/list")).toHaveLength(2);
  });

  test("may ask the user, and tells of progress", async () => {
    const progress: unknown[] = [];
    let finish: (() => void) | undefined;
    await using s = await web(
      (seen, response) => {
        if (isCall(seen)) {
          beginEvents(response);
          const meta = seen.message?.params?.["_meta"] as { progressToken: number };
          response.write(event({ method: "notifications/progress", params: { ...meta, progress: 1 } }));
          const params = { mode: "form", message: "Sure?", requestedSchema: { type: "object", properties: {} } };
          response.write(event({ id: "q1", method: "elicitation/create", params }));
          finish = () => response.end(event({ id: seen.message?.id, result: said("agreed") }));
          return true;
        }
        if (seen.message?.method !== undefined || seen.http !== "POST") return false;
        response.writeHead(202).end();
        finish?.();
        return true;
      },
      {},
      { onElicitation: () => ({ action: "accept" }) },
    );
    expect(await s.text("web__f", {}, { progress: (partial) => void progress.push(partial) })).toBe("agreed");
    expect(progress).toEqual([{ progress: 1 }]);
  });
});

describe("an answer", () => {
  test.each([
    [
      "too large, in one piece",
      "application/json",
      (id: unknown) => JSON.stringify({ jsonrpc: "2.0", id, result: said("x".repeat(50_000)) }),
    ],
    ["too large, as an event", "text/event-stream", (id: unknown) => event({ id, result: said("x".repeat(50_000)) })],
    ["no JSON", "application/json", () => "<html>"],
    ["of another type", "text/html", () => "<html>"],
    ["no message", "text/event-stream", (id: unknown) => event({ id, result: "text" })],
  ])("that is %s fails its call, and no later one", async (_title, type, body) => {
    const takeOver = firstCall((seen, response) => {
      response.writeHead(200, { "content-type": type }).end(body(seen.message?.id));
      return true;
    });
    await using s = await web(takeOver, {}, { maxMessageBytes: 20_000 });
    expect(await s.text("web__f")).toMatch(/^ToolError\((?:transport|invocation-failed)\): server "web"/);
    expect(await s.text("web__f")).toBe("called");
  });

  test.each<[string, string, (whole: string) => string]>([
    ["ends with no empty line", "text/event-stream", (whole) => whole.trimEnd()],
    ["ends its lines as old systems do", "text/event-stream", (whole) => whole.replaceAll("\n", "\r")],
    ["ends its lines as Windows does", "text/event-stream", (whole) => whole.replaceAll("\n", "\r\n")],
    ["says its type in capitals", "Text/Event-Stream; Charset=UTF-8", (whole) => whole],
  ])("that %s is one", async (_title, type, written) => {
    const takeOver = firstCall((seen, response) => {
      const whole = event({ id: seen.message?.id, result: said("odd") });
      response.writeHead(200, { "content-type": type }).end(written(whole));
      return true;
    });
    await using s = await web(takeOver);
    expect(await s.text("web__f")).toBe("odd");
    expect(await s.text("web__f")).toBe("called");
  });

  test("that is cut off within an event is resumed before it", async () => {
    const cut = '{"jsonrpc":"2.0","result":{"content":[';
    await using s = await web((seen, response) => {
      if (seen.http === "GET" && seen.headers["last-event-id"] === "e1") {
        beginEvents(response);
        const id = s.server.seen.find(isCall)?.message?.id;
        response.write(event({ id, result: said("resumed") }, "e2"));
        return true;
      }
      if (!isCall(seen)) return false;
      beginEvents(response);
      response.end(`id: e1\ndata: \n\nid: e2\ndata: ${cut}`);
      return true;
    });
    expect(await s.text("web__f")).toBe("resumed");
  });

  test.each([400, 404, 500])(
    "that is an error with the status %i tells it in the words of the server",
    async (status) => {
      const takeOver: TakeOver = (seen, response) => {
        if (!isCall(seen)) return false;
        const error = { code: -32602, message: "a is missing" };
        const body = JSON.stringify({ jsonrpc: "2.0", id: seen.message?.id, error });
        response.writeHead(status, { "content-type": "application/json" }).end(body);
        return true;
      };
      await using s = await web(takeOver);
      expect(await s.text("web__f")).toBe('ToolError(invocation-failed): server "web": a is missing');
    },
  );

  test("of whoever stands in between is not the server's", async () => {
    const takeOver = firstCall((_, response) => {
      response.writeHead(502).end(JSON.stringify({ error: { message: "upstream" } }));
      return true;
    });
    await using s = await web(takeOver);
    expect(await s.text("web__f")).toBe(
      'ToolError(transport): server "web" could not be asked: it answered 502 Bad Gateway',
    );
  });

  test.each([
    ["another request", () => JSON.stringify({ jsonrpc: "2.0", id: 777, result: said("other") })],
    ["nothing", () => "[]"],
  ])("to %s fails its call at once", async (_title, body) => {
    const takeOver = firstCall((_, response) => {
      response.writeHead(200, { "content-type": "application/json" }).end(body());
      return true;
    });
    await using s = await web(takeOver);
    expect(await s.text("web__f")).toBe(
      'ToolError(transport): server "web": the server answered without an answer to the request',
    );
    expect(await s.text("web__f")).toBe("called");
  });

  test("that was accepted only may come by another stream", async () => {
    const stream = Promise.withResolvers<ServerResponse>();
    await using s = await web((seen, response) => {
      if (seen.http === "GET") {
        beginEvents(response);
        stream.resolve(response);
        return true;
      }
      if (!isCall(seen)) return false;
      response.writeHead(202).end();
      void stream.promise.then((open) => open.write(event({ id: seen.message?.id, result: said("elsewhere") })));
      return true;
    });
    expect(await s.text("web__f")).toBe("elsewhere");
  });

  test("that never comes ends with the time of the call, which frees its socket and tells the server", async () => {
    const runtime = testRuntime();
    const arrived = Promise.withResolvers<void>();
    const freed = Promise.withResolvers<void>();
    await using s = await web(
      firstCall((_, response) => {
        response.once("close", freed.resolve);
        arrived.resolve();
        return true;
      }),
      { timeoutMs: 1_000 },
      { runtime },
    );
    const call = s.text("web__f");
    await arrived.promise;
    await runtime.advance(1_000);
    expect(await call).toBe('ToolError(timeout): server "web" was silent for too long');
    await freed.promise;
    expect(s.server.methods).toContain("notifications/cancelled");
    expect(await s.text("web__f")).toBe("called");
  });
});

describe("a server that is away", () => {
  test("fails calls at once, and serves them when it is back, without its sessions", async () => {
    await using s = await web();
    s.server.stop();
    expect(await s.text("web__f")).toMatch(/^ToolError\(transport\): server "web" could not be asked: fetch failed/);
    s.server.forget();
    s.server.start();
    expect(await s.text("web__f")).toBe("called");
  });
});

describe("the end", () => {
  test("tells the server that the session is over", async () => {
    await using s = await web();
    await s.mcp.onShutdown();
    expect(s.server.methods.at(-1)).toBe("DELETE");
  });

  test("does not wait for a server that does not answer", async () => {
    const runtime = testRuntime();
    const hanging = Promise.withResolvers<void>();
    await using s = await web(
      ({ http }, response) => {
        if (http !== "DELETE") return false;
        void once(response, "close").then(() => hanging.resolve());
        void runtime.advance(1_000);
        return true;
      },
      {},
      { closeGraceMs: 1_000, runtime },
    );
    await s.mcp.onShutdown();
    await hanging.promise;
  });
});
