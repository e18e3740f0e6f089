import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Agent } from "ennead";
import { createAgent, createScope, Ports } from "ennead/container";
import { OfflineDemoModel } from "ennead/models/offline-demo";
import { SqliteSessionStore } from "ennead/sessions/sqlite";
import { container } from "tsyringe";
import { addNumbers } from "./parts/add-numbers.js";

const folder = mkdtempSync(join(tmpdir(), "ennead-example-"));

// #region shared
// What all tenants share.
container.registerInstance(Ports.Model, new OfflineDemoModel());
container.registerInstance(Ports.Tools, addNumbers);
// #endregion shared

// #region tenant
/** An agent whose sessions are in a file of the tenant's own, closed with the agent. */
async function agentOf(tenant: string): Promise<Agent> {
  const scope = createScope(container);
  const store = new SqliteSessionStore({ path: join(folder, `${tenant}.db`) });
  scope.registerInstance(Ports.Sessions, store);
  scope.registerInstance(Ports.Lifecycles, { onShutdown: () => store.close() });
  // In place of any store that the container above has, which would be read first and see every tenant's sessions.
  return createAgent(scope, { replace: ["Sessions"] });
}
// #endregion tenant

// #region use
const [ada, eve] = [await agentOf("ada"), await agentOf("eve")];
await ada.runTurn("What is 20 + 22?", "my-session");
console.log((await ada.session("my-session")).messages.length, (await eve.session("my-session")).messages.length);
//> 4 0
await eve.runTurn("Hello", "my-session");
for (const agent of [ada, eve]) console.log((await agent.sessions.list()).items.map(({ id, count }) => [id, count]));
//> [ [ 'my-session', 4 ] ]
//> [ [ 'my-session', 2 ] ]
// #endregion use

for (const agent of [ada, eve]) await agent.shutdown();
rmSync(folder, { recursive: true });
