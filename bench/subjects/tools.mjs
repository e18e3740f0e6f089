import { setTimeout as wait } from "node:timers/promises";
import { Type } from "@sinclair/typebox";

const forecast = Type.Object({
  city: Type.String({ minLength: 1 }),
  days: Type.Integer({ minimum: 1, maximum: 14 }),
  units: Type.Optional(Type.Union([Type.Literal("metric"), Type.Literal("imperial")])),
});
const search = Type.Object({
  query: Type.String({ minLength: 1 }),
  limit: Type.Optional(Type.Integer({ minimum: 1 })),
  tags: Type.Array(Type.String()),
});
const write = Type.Object({ path: Type.String({ minLength: 1 }), content: Type.String() });

/** The tools of both variants, and how often one of them was executed. `waitMs`: how long each takes. */
export function countedTools({ waitMs }) {
  let executed = 0;
  const tool = (name, description, parameters, answer) => ({
    name,
    description,
    parameters,
    execute: async (args) => {
      executed += 1;
      if (waitMs !== undefined) await wait(waitMs);
      return answer(args);
    },
  });
  const list = [
    tool("forecast", "The weather of the next days.", forecast, ({ city, days }) => `${city}: ${days} days of sun`),
    tool("search", "Finds pages.", search, ({ query, tags }) => `nothing about ${query} in ${tags.join(", ")}`),
    tool("write", "Writes a file.", write, ({ path, content }) => `${content.length} characters in ${path}`),
  ];
  return { list, executed: () => executed };
}
