import { setImmediate } from "node:timers/promises";
import { testRuntime } from "ennead/testkit";
import type { ElicitationHandler, ElicitationRequest } from "ennead/tools/mcp";
import { describe, expect, test } from "vitest";
import { hostile, named, started } from "../../../support/hostile-mcp.js";

const server = hostile({ tools: named("ask") });
const requestedSchema = { type: "object", properties: { age: { type: "integer", minimum: 18 } }, required: ["age"] };
const form = { params: { mode: "form", message: "How old?", requestedSchema } };

describe("a server that asks the user", () => {
  const asked = async (onElicitation: ElicitationHandler | undefined, question: object = form): Promise<unknown> => {
    await using s = await started({ servers: { s: server }, onElicitation });
    return JSON.parse(await s.text("s__ask", question));
  };

  test("gets the answer of the application, which is told who asks what", async () => {
    const requests: ElicitationRequest[] = [];
    const answer = await asked((request) => {
      requests.push(request);
      return { action: "accept", content: { age: 44 } };
    });
    expect(answer).toEqual({ action: "accept", content: { age: 44 } });
    expect(requests).toMatchObject([{ server: "s", mode: "form", message: "How old?", schema: requestedSchema }]);
  });

  test("may give an address to visit, unless it is none of the web", async () => {
    const url = (address: string) => ({
      params: { mode: "url", message: "Sign in.", url: address, elicitationId: "e1" },
    });
    expect(await asked(() => ({ action: "accept" }), url("https://example.com/"))).toEqual({ action: "accept" });
    expect(await asked(() => ({ action: "accept" }), url("javascript:alert(1)"))).toEqual({ action: "decline" });
    let shown: ElicitationRequest | undefined;
    await asked(
      (request) => ({ action: (shown = request) ? "accept" : "cancel" }),
      url("https://exa\nmple.com/\u202eab"),
    );
    expect(shown).toMatchObject({ url: "https://example.com/%E2%80%AEab" });
  });

  test("is declined without a handler", async () => {
    expect(await asked(undefined)).toEqual({ action: "decline" });
  });

  test.each<[string, ElicitationHandler]>([
    ["that does not fit its schema", () => ({ action: "accept", content: { age: 3 } })],
    ["that the protocol cannot hold", () => ({ action: "accept", content: { age: 20, more: { deep: 1 } } })],
    [
      "that is a throw",
      () => {
        throw new Error("the dialog broke: hunter-2222");
      },
    ],
  ])("gets no answer %s", async (_title, handler) => {
    expect(await asked(handler)).toEqual({ action: "cancel" });
  });

  test("and dies does not stop the time of later calls, whatever the user does", async () => {
    const runtime = testRuntime();
    const asking = Promise.withResolvers<void>();
    const hostility = { tools: named("ask", "die", "wait") };
    await using s = await started({
      servers: { s: { ...hostile(hostility), timeoutMs: 1_000 } },
      runtime,
      onElicitation: () => {
        asking.resolve();
        return Promise.withResolvers<never>().promise;
      },
    });
    const call = s.text("s__ask", form);
    await asking.promise;
    expect(await s.text("s__die")).toMatch("went away");
    expect(await call).toMatch("went away");
    const silent = s.text("s__wait");
    for (let step = 0; step < 4; step++) {
      await runtime.advance(600);
      await setImmediate();
    }
    expect(await silent).toMatch("was silent for too long");
  });

  test("for a call that is aborted no longer asks, and stops the time of no later call", async () => {
    const runtime = testRuntime();
    const asking = Promise.withResolvers<AbortSignal>();
    await using s = await started({
      servers: { s: { ...hostile({ tools: named("ask", "wait") }), timeoutMs: 1_000 } },
      runtime,
      onElicitation: ({ signal }) => {
        asking.resolve(signal);
        return Promise.withResolvers<never>().promise;
      },
    });
    const turn = new AbortController();
    const call = s.text("s__ask", form, { signal: turn.signal });
    const question = await asking.promise;
    turn.abort();
    expect(await call).toMatch("was aborted");
    expect(question.aborted).toBe(true);
    const silent = s.text("s__wait");
    for (let step = 0; step < 4; step++) {
      await runtime.advance(600);
      await setImmediate();
    }
    expect(await silent).toMatch("was silent for too long");
  });

  test("while no call runs does not stop the time of later calls", async () => {
    const runtime = testRuntime();
    const asking = Promise.withResolvers<AbortSignal>();
    await using s = await started({
      servers: { s: { ...hostile({ tools: named("wait"), asksAtStart: [form.params] }), timeoutMs: 1_000 } },
      runtime,
      onElicitation: ({ signal }) => {
        asking.resolve(signal);
        return Promise.withResolvers<never>().promise;
      },
    });
    const question = await asking.promise;
    const silent = s.text("s__wait");
    for (let step = 0; step < 4; step++) {
      await runtime.advance(600);
      await setImmediate();
    }
    expect(await silent).toMatch("was silent for too long");
    expect(question.aborted).toBe(false);
    await s.mcp.onShutdown();
    expect(question.aborted).toBe(true);
  });

  test("without end is answered for the user, who is asked no more than 64 questions at one time", async () => {
    let asked = 0;
    const asksAtStart = Array.from({ length: 100 }, () => form.params);
    await using s = await started({
      servers: { s: hostile({ tools: named("log"), asksAtStart }) },
      onElicitation: () => {
        asked += 1;
        return Promise.withResolvers<never>().promise;
      },
    });
    const answers = async () => {
      const log = JSON.parse(await s.text("s__log")) as { id?: unknown; result?: unknown }[];
      return log.filter(({ id, result }) => String(id).startsWith("start-") && result !== undefined);
    };
    while ((await answers()).length < 36);
    expect((await answers()).map(({ result }) => result)).toEqual(Array(36).fill({ action: "cancel" }));
    expect(asked).toBe(64);
  });

  test("waits for the user, whose time the call is not charged with", async () => {
    const runtime = testRuntime();
    const asking = Promise.withResolvers<void>();
    const answered = Promise.withResolvers<{ action: "accept"; content: { age: number } }>();
    await using s = await started({
      servers: { s: { ...server, timeoutMs: 1_000, maxTotalTimeoutMs: 2_000 } },
      runtime,
      onElicitation: () => {
        asking.resolve();
        return answered.promise;
      },
    });
    const call = s.text("s__ask", form);
    await asking.promise;
    await runtime.advance(60_000);
    answered.resolve({ action: "accept", content: { age: 20 } });
    expect(JSON.parse(await call)).toMatchObject({ action: "accept" });
  });
});
