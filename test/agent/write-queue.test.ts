import { expect, test } from "vitest";
import { Conversation } from "../../src/agent/conversation.js";
import { InProcessScope } from "../../src/agent/in-process-scope.js";
import { RoundWriter } from "../../src/agent/session-writer.js";
import { Stores } from "../../src/agent/stores.js";
import type { AgentMessage } from "../../src/domain/message.js";
import { RecordingSessionStore, testRuntime } from "../../src/testkit/index.js";

const note = (id: string): AgentMessage => ({ id, at: 0, role: "user", content: [{ type: "text", text: id }] });

/** A store whose appends wait for the test. */
class GatedStore extends RecordingSessionStore {
  gate = Promise.resolve();
  override async append(...args: Parameters<RecordingSessionStore["append"]>): Promise<number> {
    await this.gate;
    return super.append(...args);
  }
}

test("a write never begins while another is under way, at whatever moment it is asked for (U4, S2)", async () => {
  for (let delay = 0; delay < 30; delay++) {
    const store = new GatedStore();
    const failures: unknown[] = [];
    const runtime = testRuntime();
    let writes = 0;
    const writer = new RoundWriter({
      stores: new Stores([store]),
      conversation: new Conversation("s"),
      turnId: "t",
      scope: new InProcessScope({ signal: new AbortController().signal, runtime }),
      runtime,
      replays: false,
      storeTimeoutMs: 1_000,
      turnLeaseMs: 1_000,
      onFailure: (error) => void failures.push(error),
      nextWrite: () => writes++,
    });
    await writer.open([note("m0")]);
    const gate = Promise.withResolvers<void>();
    store.gate = gate.promise;
    const added = [writer.add([note("m1")]), writer.add([note("m2")])];
    gate.resolve();
    for (let tick = 0; tick < delay; tick++) await Promise.resolve();
    added.push(writer.add([note("m3")]));
    expect((await Promise.allSettled(added)).map(({ status }) => status)).toEqual(Array(3).fill("fulfilled"));
    expect(failures).toEqual([]);
    const sizes = store.ops.flatMap((op) => (op.type === "append" ? [op.delta?.messages.length] : []));
    expect(sizes).not.toContain(0);
    expect((await store.load("s")).messages.map(({ id }) => id)).toEqual(["m0", "m1", "m2", "m3"]);
  }
});
