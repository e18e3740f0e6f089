import { JsonlSessionStore } from "../../../src/adapters/sessions/jsonl.js";
import { SessionError } from "../../../src/domain/errors.js";
import { deltaOf, note } from "../../../src/testkit/claims/session-samples.js";

/** A process of its own that has no room, or no rights, and prints what came of each call. */
export type RefusedTask = { readonly directory: string; readonly way: "full" | "unprivileged" };

const { directory, way } = JSON.parse(process.argv[2] ?? "") as RefusedTask;
const store = new JsonlSessionStore({ directory });

async function tell(what: string, call: () => Promise<unknown>): Promise<void> {
  try {
    await call();
    process.stdout.write(`${what}: done\n`);
  } catch (error) {
    if (!(error instanceof SessionError)) throw error;
    process.stdout.write(`${what}: ${error.kind} ${error.message.slice(error.message.lastIndexOf(": ") + 2)}\n`);
  }
}

const text = "x".repeat(3_000);
if (way === "full") {
  for (let n = 0; n < 4; n++)
    await tell(`append ${n}`, () => store.append("s", deltaOf(`o${n}`, n, [note(`m${n}`, text)])));
  const revision = 2;
  const whole = { messages: [note("a", text), note("b", text), note("c", text)], metadata: {}, revision };
  await tell("save", () => store.save("s", whole));
  await tell("append to another", () => store.append("t", deltaOf("o", 0, [note("n")])));
  await tell("load", async () => process.stdout.write(`${(await store.load("s")).messages.length} messages\n`));
} else {
  // Whoever may do everything cannot be refused.
  if (process.getuid?.() === 0) process.seteuid?.(65_534);
  await tell("load", async () => process.stdout.write(`${(await store.load("s")).messages.length} messages\n`));
  await tell("append", () => store.append("s", deltaOf("o9", 1, [note("n")])));
  await tell("append to another", () => store.append("t", deltaOf("o", 0, [note("n")])));
  await tell("save", () => store.save("s", { messages: [], metadata: {}, revision: 1 }, { replace: true }));
  await tell("delete", () => store.delete("s"));
  await tell("list", () => store.list());
}
