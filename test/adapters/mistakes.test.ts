import { expect, it } from "vitest";
import { SqliteSessionStore } from "../../src/adapters/sessions/sqlite.js";
import { defineTool, Type } from "../../src/adapters/tools/index.js";

it("a tool without an execute function is refused by its name when it is defined", () => {
  const definition = { name: "look", description: "looks", parameters: Type.Object({}) };
  expect(() => defineTool(definition as never)).toThrow(/CompositionError\(invalid-config\): tool look has no execute/);
});

it.each([[undefined], ["/x.db"], [{}], [{ file: "/x.db" }], [{ path: "" }]])(
  "a SQLite store made with %j says what it needs",
  (options) => {
    expect(() => new SqliteSessionStore(options as never)).toThrow(/CompositionError\(invalid-config\).*path/);
  },
);
