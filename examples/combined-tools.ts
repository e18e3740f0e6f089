import { Agent, textOf } from "ennead";
import { MemorySessionStore } from "ennead/sessions/memory";
import { ScriptedModel, stopResponse, toolCallsResponse } from "ennead/testkit";
import { defineTool, ToolRegistry, Type } from "ennead/tools";
import { composite, filtered, namespaced, refreshing, wrapped } from "ennead/tools/combinators";

const tool = (name: string, answer: string, readOnlyHint = true) =>
  defineTool({
    name,
    description: `${name}.`,
    parameters: Type.Object({}),
    annotations: { readOnlyHint },
    execute: () => answer,
  });

// Stand-ins for two servers.
const wiki = new ToolRegistry([tool("search", "from the wiki"), tool("edit", "edited", false)], "wiki");
const shop = new ToolRegistry([tool("search", "from the shop")], "shop");

// #region combine
const asked: string[] = [];
const tools = composite([
  tool("today", "Friday"),
  // A source that is far away: bounded, asked once for all who wait, and kept when it fails.
  namespaced(refreshing(wiki, { timeoutMs: 2_000 }), "wiki"),
  namespaced(shop, "shop"),
]);
const readers = filtered(tools, (_tool, hints) => hints.readOnly);
const traced = wrapped(readers, async (call, _context, run) => {
  asked.push(call.name);
  return await run();
});
// #endregion combine

const model = new ScriptedModel([
  toolCallsResponse(
    { id: "1", name: "wiki__search", arguments: {} },
    { id: "2", name: "shop__search", arguments: {} },
    { id: "3", name: "wiki__edit", arguments: {} },
  ),
  stopResponse("Done."),
]);
const agent = await Agent.create({ model, tools: [traced], sessions: [new MemorySessionStore()] });
console.log((await agent.tools()).map(({ name }) => name));
//> [ 'today', 'wiki__search', 'shop__search' ]
const { toolResults } = await agent.runTurn("Look it up.");
for (const message of toolResults) console.log(message.isError, textOf(message));
//> false from the wiki
//> false from the shop
//> true ToolError(unknown-tool): there is no tool named wiki__edit
console.log(asked);
//> [ 'wiki__search', 'shop__search' ]
await agent.shutdown();
