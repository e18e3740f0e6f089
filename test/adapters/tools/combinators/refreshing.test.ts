import { getEventListeners } from "node:events";
import { describe, expect, it, test } from "vitest";
import { composite, filtered, namespaced, refreshing } from "../../../../src/adapters/tools/combinators.js";
import { CompositionError } from "../../../../src/domain/errors.js";
import type { ToolDef } from "../../../../src/domain/tool.js";
import type { ToolProvider } from "../../../../src/ports/tool-provider.js";
import {
  RecordingToolProvider,
  runClaims,
  stopResponse,
  testAgent,
  testRuntime,
  testToolContext,
  toolDef,
  toolOutcome,
  toolProviderClaims,
} from "../../../../src/testkit/index.js";

const signal = new AbortController().signal;

const remote = (members: ConstructorParameters<typeof RecordingToolProvider>[0] = {}): RecordingToolProvider =>
  new RecordingToolProvider({ name: "remote", ...members }).add("a", toolOutcome.ok("ran"));

const names = async (provider: ToolProvider, turnId?: string): Promise<readonly string[]> =>
  (await provider.listTools({ signal, turnId })).map(({ name }) => name);

describe("refreshing", () => {
  runClaims({
    test,
    claims: toolProviderClaims,
    capabilities: { validation: { missing: "the recording source has none" } },
    make: () => {
      const source = remote().add("slow", toolOutcome.hangs());
      return {
        provider: refreshing(source),
        call: { name: "a", arguments: {} },
        slowCall: { name: "slow", arguments: {} },
        change: () => void source.add(`extra-${source.listCallCount}`, toolOutcome.ok()),
      };
    },
  });

  it("asks once a turn, and again within it only when the source says that its list changed", async () => {
    const source = remote();
    const provider = refreshing(source);
    await names(provider, "t1");
    await names(provider, "t1");
    expect(source.listCallCount).toBe(1);
    source.add("b", toolOutcome.ok());
    expect(await names(provider, "t1")).toEqual(["a", "b"]);
    await names(provider, "t2");
    expect(source.listCallCount).toBe(3);
  });

  it("asks on change alone where that is wanted, whatever turns there are", async () => {
    const source = remote();
    const provider = refreshing(source, { relist: "on-change" });
    for (const turn of ["t1", "t2", undefined]) await names(provider, turn);
    expect(source.listCallCount).toBe(1);
    source.remove("a");
    expect(await names(provider, "t3")).toEqual([]);
    expect(source.listCallCount).toBe(2);
  });

  it("keeps the last list of a source that fails, and asks again the next time", async () => {
    const source = remote();
    const failures: unknown[] = [];
    const provider = refreshing(source, { relist: "on-change", onFailure: (error) => failures.push(error) });
    await names(provider);
    source.add("b", toolOutcome.ok());
    source.failList("down");
    expect(await names(provider)).toEqual(["a"]);
    expect(failures).toEqual(["down"]);
    expect(await names(provider)).toEqual(["a", "b"]);
  });

  it("loses the tools of an optional source for as long as it fails, and fails for one that is to fail", async () => {
    const optional = remote({ optional: true });
    const losing = refreshing(optional);
    await names(losing, "t1");
    optional.failList("down");
    expect(await names(losing, "t2")).toEqual([]);
    expect(await names(losing, "t3")).toEqual(["a"]);
    const strict = remote();
    const failing = refreshing(strict, { whenFailing: "fail" });
    await names(failing, "t1");
    strict.failList("down");
    await expect(names(failing, "t2")).rejects.toBe("down");
  });

  it("has nothing to keep when the first listing fails", async () => {
    const source = remote();
    source.failList("down");
    await expect(names(refreshing(source))).rejects.toBe("down");
  });

  it("gives up a listing that takes too long, tells it to stop, and leaves no timer", async () => {
    const runtime = testRuntime();
    let given: AbortSignal | undefined;
    const stuck: ToolProvider = {
      listTools: (context) => {
        given = context.signal;
        return Promise.withResolvers<never>().promise;
      },
      execute: () => undefined,
    };
    const listing = names(refreshing(stuck, { timeoutMs: 100, runtime }));
    const failed = expect(listing).rejects.toThrow("ToolError(timeout): no list of tools within 100 ms");
    await runtime.advance(100);
    await failed;
    expect(given?.aborted).toBe(true);
    expect(runtime.pendingTimers).toBe(0);
  });

  it("asks once for all who ask at the same time, and ends when the last of them is aborted", async () => {
    const runtime = testRuntime();
    const signals: AbortSignal[] = [];
    let answer = Promise.withResolvers<readonly ToolDef[]>();
    const source: ToolProvider = {
      listTools: (context) => {
        signals.push(context.signal);
        return answer.promise;
      },
      execute: () => undefined,
    };
    const provider = refreshing(source, { runtime });
    const [one, two] = [new AbortController(), new AbortController()];
    const first = Promise.resolve(provider.listTools({ signal: one.signal }));
    const second = Promise.resolve(provider.listTools({ signal: two.signal }));
    one.abort(new Error("first gone"));
    await expect(first).rejects.toThrow("first gone");
    expect([signals.length, signals[0]?.aborted]).toEqual([1, false]);
    two.abort(new Error("second gone"));
    await expect(second).rejects.toThrow("second gone");
    expect(signals[0]?.aborted).toBe(true);
    expect(runtime.pendingTimers).toBe(0);

    answer = Promise.withResolvers();
    const third = Promise.resolve(provider.listTools({ signal }));
    answer.resolve([toolDef("a")]);
    expect(await third).toHaveLength(1);
    expect([signals.length, signals[1]?.aborted]).toEqual([2, false]);
    expect([one, two].map((of) => getEventListeners(of.signal, "abort").length)).toEqual([0, 0]);
    expect(runtime.pendingTimers).toBe(0);
  });

  it("asks again after a change that came while the source answered", async () => {
    const listeners: (() => void)[] = [];
    const answers = [Promise.withResolvers<readonly ToolDef[]>(), Promise.withResolvers<readonly ToolDef[]>()];
    let asked = 0;
    const source: ToolProvider = {
      listTools: async () => await (answers[asked++]?.promise ?? []),
      execute: () => undefined,
      onToolsChanged: (listener) => {
        listeners.push(listener);
        return () => undefined;
      },
    };
    const provider = refreshing(source, { relist: "on-change" });
    const first = names(provider);
    for (const listener of listeners) listener();
    answers[0]?.resolve([toolDef("old")]);
    await first;
    answers[1]?.resolve([toolDef("new")]);
    expect(await names(provider)).toEqual(["new"]);
    expect(listeners).toHaveLength(1);
  });

  it("tells its source of no session, so that nobody's list becomes another's", async () => {
    const contexts: unknown[] = [];
    const source: ToolProvider = {
      listTools: ({ sessionId, turnId }) => {
        contexts.push([sessionId, turnId]);
        return [];
      },
      execute: () => undefined,
    };
    await refreshing(source).listTools({ signal, sessionId: "s", turnId: "t" });
    expect(contexts).toEqual([[undefined, undefined]]);
  });

  it.each<[string, string, (source: ToolProvider) => ToolProvider]>([
    ["composite", "", (source) => composite([source])],
    ["filtered", "", (source) => filtered(source, () => true)],
    ["namespaced", "x__", (source) => namespaced(source, "x")],
    [
      "all of them",
      "x__",
      (source) =>
        namespaced(
          filtered(composite([source]), () => true),
          "x",
        ),
    ],
  ])("calls by its newest list what stands behind a %s, and asks for no list on the way", async (_, prefix, made) => {
    const source = remote();
    const provider = refreshing(made(source), { relist: "on-change" });
    const call = async (name: string): Promise<unknown> =>
      await provider.execute({ id: "1", name: prefix + name, arguments: {} }, testToolContext({ sessionId: "s" }));
    await names(provider);
    expect(await call("a")).toBe("ran");
    source.add("b", toolOutcome.ok("new"));
    expect(await names(provider)).toEqual([`${prefix}a`, `${prefix}b`]);
    expect(await call("b")).toBe("new");
    expect(source.listCallCount).toBe(2);
    await expect(call("c")).rejects.toThrow("unknown-tool");
    // What was looked for in vain is remembered for the session, and must not hide what comes.
    source.add("c", toolOutcome.ok("newer"));
    await names(provider);
    expect(await call("c")).toBe("newer");
  });

  it("lets turns go on while a remote source is down", async () => {
    const source = remote();
    await using agents = await testAgent({
      providers: [refreshing(source)],
      script: [stopResponse("one"), stopResponse("two")],
    });
    await agents.agent.runTurn("go", "s");
    source.failList("down");
    await agents.agent.runTurn("again", "s");
    expect(agents.model.requests.map(({ tools }) => tools.map(({ name }) => name))).toEqual([["a"], ["a"]]);
  });

  it.each([[{ timeoutMs: 0 }], [{ relistt: "on-change" }]])("refuses %j", (options) => {
    expect(() => refreshing(remote(), options as never)).toThrow(CompositionError);
  });

  it("refuses to wait for changes that are never told", () => {
    const silent: ToolProvider = { listTools: () => [], execute: () => undefined };
    expect(() => refreshing(silent, { relist: "on-change" })).toThrow("CompositionError(invalid-config)");
  });
});
