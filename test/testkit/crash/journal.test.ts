import { describe, expect, test } from "vitest";
import { CutOff } from "../../../src/agent/cut-off.js";
import { Defect, ModelError, SessionError, ToolError } from "../../../src/domain/errors.js";
import type { Json } from "../../../src/domain/json.js";
import type { Outcome } from "../../../src/ports/step-scope.js";
import { errorFromJson, errorToJson, textOfValue, valueOfText } from "../../../src/testkit/error-json.js";
import { type CrashPoint, Journal, JournalScope, testRuntime } from "../../../src/testkit/index.js";

const scopeOn = (journal: Journal, crash?: CrashPoint) => new JournalScope({ journal, runtime: testRuntime(), crash });

const settledIn = async (work: Promise<unknown>): Promise<boolean> => {
  let settled = false;
  void work.then(() => (settled = true));
  await new Promise((resolve) => void setImmediate(resolve));
  return settled;
};

describe("a journal", () => {
  test("answers for a step that is recorded, errors as what they were, and runs it no second time", async () => {
    const journal = new Journal();
    const ran: string[] = [];
    const run = async (scope: JournalScope): Promise<Outcome<unknown>[]> => [
      await scope.step("read", async () => (ran.push("read"), { n: 1 })),
      await scope.step("write", async () => {
        ran.push("write");
        throw new SessionError("conflict", "somebody else wrote");
      }),
    ];
    const first = await run(scopeOn(journal));
    const second = await run(scopeOn(Journal.fromJson(JSON.parse(JSON.stringify(journal)) as Json)));
    expect(ran).toEqual(["read", "write"]);
    expect(second).toEqual(first);
    expect(second[0]).toEqual({ ok: true, value: { n: 1 } });
    const [, failed] = second;
    expect(failed?.ok === false && failed.error).toBeInstanceOf(SessionError);
    expect(failed).toMatchObject({
      error: { kind: "conflict", message: "SessionError(conflict): somebody else wrote" },
    });
  });

  test("stops the world behind a step: its effect happened, nobody hears of it, and nothing else begins", async () => {
    const journal = new Journal();
    const scope = scopeOn(journal, { step: "pay", acknowledged: false });
    const ran: string[] = [];
    const beside = Promise.withResolvers<number>();
    const slow = scope.step("slow", () => (ran.push("slow"), beside.promise));
    const pay = scope.step("pay", async () => void ran.push("pay"));
    expect([await settledIn(pay), scope.crashed, ran]).toEqual([false, true, ["slow", "pay"]]);
    beside.resolve(1);
    const later = scope.step("later", async () => void ran.push("later"));
    const hook = scope.bounded(async () => void ran.push("hook"));
    expect([await settledIn(slow), await settledIn(later), await settledIn(hook)]).toEqual([false, false, false]);
    expect(ran).toEqual(["slow", "pay"]);
    expect(journal.steps).toEqual([
      { name: "slow", attempts: 1, state: "open" },
      { name: "pay", attempts: 1, state: "open" },
    ]);
  });

  test("behind an acknowledged step the turn hears of it, and is stopped at its next", async () => {
    const journal = new Journal();
    const scope = scopeOn(journal, { step: "pay", acknowledged: true });
    expect(await scope.step("pay", async () => "paid")).toEqual({ ok: true, value: "paid" });
    expect(await settledIn(scope.step("next", async () => 1))).toBe(false);
    expect([journal.has("pay"), journal.has("next")]).toEqual([true, false]);
  });

  test("counts the attempts at a step whose outcome was lost", async () => {
    const journal = new Journal();
    const attempts: number[] = [];
    const once = (scope: JournalScope) => scope.step("pay", async ({ attempt }) => void attempts.push(attempt));
    void once(scopeOn(journal, { step: "pay", acknowledged: false }));
    await once(scopeOn(journal));
    expect(attempts).toEqual([0, 1]);
  });

  test("settles a wave in input order after all of it has ended, each stored before the next", async () => {
    const scope = scopeOn(new Journal());
    const [a, b] = [Promise.withResolvers<string>(), Promise.withResolvers<string>()];
    const log: string[] = [];
    const wave = scope.all(
      [
        { name: "a", run: () => a.promise },
        { name: "b", run: () => b.promise },
      ],
      async (index) => {
        log.push(`settle ${index}`);
        return { done: Promise.resolve().then(() => void log.push(`stored ${index}`)) };
      },
    );
    b.resolve("b");
    expect([await settledIn(wave), log]).toEqual([false, []]);
    a.resolve("a");
    await wave;
    expect(log).toEqual(["settle 0", "stored 0", "settle 1", "stored 1"]);
  });

  test("refuses a replay that does something else, a name that is used twice, and a result that is no JSON, by name", async () => {
    const journal = new Journal();
    await scopeOn(journal).step("read", async () => 1);
    await expect(scopeOn(journal).step("write", async () => 1)).rejects.toThrow(
      new Defect("the turn is not deterministic: step 0 is write, and was read in the run that is replayed"),
    );
    const twice = scopeOn(new Journal());
    await twice.step("read", async () => 1);
    await expect(twice.step("read", async () => 1)).rejects.toThrow("step name used twice: read");
    const odd = scopeOn(new Journal()).step("count", async () => ({ list: [1, Number.NaN] }));
    await expect(odd).rejects.toThrow("step count.value.list[1] is a number that JSON cannot hold");
    expect(() => Journal.fromJson({})).toThrow("this is no journal");
    expect(() => Journal.fromJson([{ name: "a" }, {}])).toThrow("step 1 of the journal has no name");
  });
});

describe("errors as JSON", () => {
  test.each([
    new ModelError("rate-limit", "slow down", {
      status: 429,
      retryAfterMs: 5,
      provider: "p",
      requestId: "r",
      usage: { inputTokens: 3 },
      partial: [{ type: "text", text: "half" }],
      retryable: false,
      cause: new TypeError("socket"),
    }),
    new ToolError("timeout", "too long"),
    new CutOff("timeout"),
    new RangeError("odd"),
    "just text",
    { code: 5 },
    null,
  ])("come back as what they were: %s", (error) => {
    const again = errorFromJson(JSON.parse(JSON.stringify(errorToJson(error))) as never);
    expect(again).toEqual(error);
    if (error instanceof Error) expect(again).toMatchObject({ name: error.name, message: error.message });
    if (error instanceof ModelError) {
      expect(again).toBeInstanceOf(ModelError);
      expect(again).toMatchObject({ partial: error.partial, cause: { name: "TypeError" }, retryable: false });
    }
  });

  test("values that look like the mark of an error, and fields named __proto__, are told from errors", () => {
    const value = {
      fake: { $ennead: "error", error: { type: "thrown", value: 1 } },
      deep: [{ $ennead: "fields", fields: [["a", 1]] }],
      real: new ToolError("aborted", "stopped"),
      odd: JSON.parse('{"__proto__":{"x":1}}') as unknown,
    };
    const again = valueOfText(textOfValue(value, "value")) as typeof value;
    expect(again).toEqual(value);
    expect(again.real).toBeInstanceOf(ToolError);
    expect(Object.keys(again.odd as object)).toEqual(["__proto__"]);
  });

  test("a model's error that tells little stays as it is", () => {
    const plain = errorFromJson(errorToJson(new ModelError("server", "down")));
    expect(plain).toMatchObject({ kind: "server", status: undefined, retryable: true });
  });
});
