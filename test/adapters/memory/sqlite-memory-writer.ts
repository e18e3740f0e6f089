import { SqliteMemory } from "../../../src/adapters/memory/sqlite.js";
import { PATIENCE_MS } from "../../support/patience.js";

/** A process of its own: stores `count` entries, and one that all processes share, and prints the id of each acknowledged one. */
const [path = "", name = "", count = ""] = process.argv.slice(2);
await using memory = new SqliteMemory({ path, busyTimeoutMs: PATIENCE_MS });
for (let n = 0; n < Number(count); n++) {
  const id = `${name}.${n}`;
  await memory.store({ id, content: `apple ${id}`, metadata: { name } });
  await memory.store({ id: "shared", content: `pear of ${id}`, metadata: { id } });
  if (n % 3 === 0) await memory.delete(`${name}.${n - 1}`);
  process.stdout.write(`${id}\n`);
}
