import { mkdtempSync, rmSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { createReadStream } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Agent, copySessions, exportSession } from "ennead";
import { OfflineDemoModel } from "ennead/models/offline-demo";
import { MemorySessionStore } from "ennead/sessions/memory";
import { SqliteSessionStore } from "ennead/sessions/sqlite";

const folder = mkdtempSync(join(tmpdir(), "ennead-example-"));
const file = join(folder, "hall.jsonl");
const memory = new MemorySessionStore();
const sqlite = new SqliteSessionStore({ path: join(folder, "sessions.db") });
const agent = await Agent.create({ model: new OfflineDemoModel(), sessions: [memory] });
await agent.runTurn("Hello", "hall");

// #region file
// Into a file, a line at a time, also while a turn runs on the session; and back, under another id.
await writeFile(file, agent.sessions.export("hall"));
console.log(await agent.sessions.import(createReadStream(file), { id: "hall-2" }));
//> hall-2

// What is cut, damaged or foreign is refused with its line, and nothing of it is stored.
await agent.sessions.import('{"format":"ennead.session"').catch((error: Error) => console.log(error.message));
//> AgentError(invalid-input): SessionError(corrupt): line 1: is no export of a session
// #endregion file

// #region stores
// All sessions of one store into another. Repeated, it goes on where it was.
console.log(await copySessions({ from: memory, to: sqlite }));
//> { copied: 2, unchanged: 0, failures: [] }
console.log(await copySessions({ from: memory, to: sqlite }));
//> { copied: 0, unchanged: 2, failures: [] }

// Nothing takes the place of another session of its id, unless `replace` says so.
await agent.runTurn("And now?", "hall");
for (const { id, outcome } of (await copySessions({ from: memory, to: sqlite })).failures) console.log(id, outcome);
//> hall refused
// #endregion stores

// #region store
// One session of any store, a mirror too.
for await (const line of exportSession(sqlite, "hall")) console.log(Object.keys(JSON.parse(line) as object).join(" "));
//> format version id revision count session
//> index message
//> index message
// #endregion store

await agent.shutdown();
await sqlite.close();
rmSync(folder, { recursive: true });
