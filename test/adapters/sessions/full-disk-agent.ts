import { Agent } from "../../../src/agent/agent.js";
import { SqliteSessionStore } from "../../../src/adapters/sessions/sqlite.js";
import { defineTool, Type } from "../../../src/adapters/tools/index.js";
import { AgentError } from "../../../src/domain/errors.js";
import { stopResponse, toolCallResponse } from "../../../src/testkit/builders.js";

/**
 * A process of its own: runs turns with large results on session "s" until one fails, prints each, and the failure; then, for each line on its
 * standard input, one turn more.
 */
const { path } = JSON.parse(process.argv[2] ?? "") as { readonly path: string };
const say = (line: string): void => void process.stdout.write(`${line}\n`);
const store = new SqliteSessionStore({ path });
let calls = 0;
const agent = await Agent.create({
  model: {
    chat: async ({ messages }) =>
      messages.at(-1)?.role === "tool" ? stopResponse("answered") : toolCallResponse("read", `c${calls++}`, {}),
  },
  tools: [
    defineTool({
      name: "read",
      description: "Reads.",
      parameters: Type.Object({}),
      execute: async () => "x".repeat(200_000),
    }),
  ],
  sessions: [store],
});

async function turn(n: number): Promise<boolean> {
  try {
    await agent.runTurn(`turn ${n}`, "s");
    say(`completed ${n}`);
    return true;
  } catch (error) {
    if (!AgentError.is(error)) throw error;
    const { cause } = error;
    say(
      `${error.kind} ${cause instanceof Error && "kind" in cause ? `${cause.name} ${String(cause.kind)}` : String(cause)}`,
    );
    return false;
  }
}

let n = 0;
while (n < 200 && (await turn(n))) n += 1;
for await (const _ of process.stdin) {
  n += 1;
  await turn(n);
}
await agent.shutdown();
await store.close();
