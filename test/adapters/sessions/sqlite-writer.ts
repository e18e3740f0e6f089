import { SqliteSessionStore } from "../../../src/adapters/sessions/sqlite.js";
import { SessionError } from "../../../src/domain/errors.js";
import { deltaOf, note } from "../../../src/testkit/claims/session-samples.js";
import { PATIENCE_MS } from "../../support/patience.js";

/** A process of its own: appends `count` messages to one session, retrying on conflict, and prints the id of each acknowledged one. */
const [path = "", name = "", count = ""] = process.argv.slice(2);
const store = new SqliteSessionStore({ path, busyTimeoutMs: PATIENCE_MS });
let known = 0;
for (let n = 0; n < Number(count); n++) {
  const id = `${name}.${n}`;
  for (let stored = false; !stored; ) {
    try {
      known = await store.append("shared", deltaOf(id, known, [note(id)], { metadata: { [name]: n } }));
      stored = true;
    } catch (error) {
      if (!(error instanceof SessionError && error.kind === "conflict")) throw error;
      known = (await store.load("shared", known)).revision;
    }
  }
  // What is only buffered here would be lost with the process, and would count as not acknowledged.
  await new Promise<void>((resolve) => void process.stdout.write(`${id}\n`, () => resolve()));
}
await store.close();
