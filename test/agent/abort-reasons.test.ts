import { expect, test } from "vitest";
import { followSignal, TurnControl } from "../../src/agent/turn-control.js";
import { userMessage } from "../../src/domain/message.js";
import { stopResponse, testAgent } from "../../src/testkit/index.js";

class Unreadable extends Error {
  override get message(): string {
    throw new Error("no");
  }
}

function revoked(): unknown {
  const { proxy, revoke } = Proxy.revocable(new Error("gone"), {});
  revoke();
  return proxy;
}

test.each<[string, unknown, string]>([
  ["text", "enough", "enough"],
  ["an error", new Error("too slow"), "too slow"],
  ["several lines", "one\ntwo", "onetwo"],
  ["a long text", "x".repeat(1_000), `${"x".repeat(64)}...(truncated)`],
  ["an error whose message throws", new Unreadable(), "aborted"],
  ["a revoked proxy", revoked(), "aborted"],
  ["an error whose message is an object", Object.assign(new Error("x"), { message: { a: 1 } }), "aborted"],
  ["nothing", undefined, "aborted"],
])("a signal may abort with any reason, and the turn tells one line of it: %s", (_, reason, told) => {
  const controller = new AbortController();
  const control = new TurnControl();
  followSignal(control, controller.signal);
  controller.abort(reason);
  expect(control.abortReason).toBe(told);
});

test("a signal is heard until listeners are through with the end (T7)", async () => {
  await using t = await testAgent({ script: [stopResponse("done")] });
  let reached = (): void => {};
  const ended = new Promise<void>((resolve) => {
    reached = resolve;
  });
  t.agent.subscribe((event) => {
    if (event.type !== "turnCompleted") return undefined;
    reached();
    return new Promise(() => {});
  });
  const controller = new AbortController();
  const turn = t.agent.runTurn(userMessage("hi"), "s", { signal: controller.signal });
  await ended;
  controller.abort();
  await t.runtime.advance(1_000);
  expect((await turn).status).toBe("completed");
});
