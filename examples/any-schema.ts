import { toJsonSchema } from "@valibot/to-json-schema";
import { type } from "arktype";
import { Agent } from "ennead";
import { MemorySessionStore } from "ennead/sessions/memory";
import { ScriptedModel, stopResponse, toolCallsResponse } from "ennead/testkit";
import { defineTool, Type } from "ennead/tools";
import { jsonSchemaTool } from "ennead/tools/json-schema";
import { standardSchemaTool } from "ennead/tools/standard-schema";
import * as v from "valibot";
import { z } from "zod";

// #region typebox
const distance = defineTool({
  name: "distance",
  description: "Tells how far two cities are apart, in kilometres.",
  parameters: Type.Object({ from: Type.String(), to: Type.String() }),
  output: Type.Object({ km: Type.Integer({ minimum: 0 }) }),
  annotations: { readOnlyHint: true },
  execute: ({ from, to }) => ({ km: from === to ? 0 : 95 }),
});
// #endregion typebox

// #region json-schema
const weather = jsonSchemaTool({
  name: "weather",
  description: "Tells the weather.",
  inputSchema: {
    type: "object",
    properties: {
      city: { type: "string", minLength: 1 },
      unit: { enum: ["celsius", "fahrenheit"], default: "celsius" },
    },
    required: ["city"],
    additionalProperties: false,
  },
  // `unit` is "celsius" | "fahrenheit", and always there: it has a default.
  execute: ({ city, unit }) => `12 degrees ${unit} in ${city}`,
});
// #endregion json-schema

// #region zod
const remind = standardSchemaTool({
  name: "remind",
  description: "Reminds of something at a time.",
  input: z.object({ at: z.iso.datetime().transform((text) => new Date(text)), what: z.string() }),
  // What is stored and approved is the text the model sent; `execute` gets the date that the schema makes of it.
  execute: ({ at, what }) => `${what}, ${at.toUTCString()}`,
});
// #endregion zod

// #region valibot
const count = standardSchemaTool({
  name: "count",
  description: "Counts letters.",
  input: v.object({ text: v.string(), letter: v.pipe(v.string(), v.length(1)) }),
  // Valibot leaves JSON Schema to a package of its own.
  toJsonSchema,
  execute: ({ text, letter }) => text.split(letter).length - 1,
});
// #endregion valibot

// #region arktype
const roll = standardSchemaTool({
  name: "roll",
  description: "Rolls a die, which always shows its highest side.",
  input: type({ sides: "2 <= number.integer <= 100" }),
  execute: ({ sides }) => sides,
});
// #endregion arktype

const model = new ScriptedModel([
  toolCallsResponse(
    { id: "1", name: "distance", arguments: { from: "Bern", to: "Basel" } },
    { id: "2", name: "weather", arguments: { city: "Bern" } },
    { id: "3", name: "remind", arguments: { at: "2026-01-02T10:00:00Z", what: "tea" } },
    { id: "4", name: "count", arguments: { text: "banana", letter: "a" } },
    { id: "5", name: "roll", arguments: { sides: 1 } },
  ),
  stopResponse("Done."),
]);
const tools = [distance, weather, remind, count, roll];
const agent = await Agent.create({ model, tools, sessions: [new MemorySessionStore()] });
const { toolResults } = await agent.runTurn("Try them all.");
for (const { toolName, structured, content } of toolResults) {
  console.log(toolName, structured ?? content[0]);
}
//> distance { km: 95 }
//> weather { type: 'text', text: '12 degrees celsius in Bern' }
//> remind { type: 'text', text: 'tea, Fri, 02 Jan 2026 10:00:00 GMT' }
//> count 3
//> roll {
//>   type: 'text',
//>   text: 'the arguments for roll are invalid: /sides: at least 2'
//> }
await agent.shutdown();
