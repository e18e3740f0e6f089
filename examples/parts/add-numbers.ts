import { defineTool, Type } from "ennead/tools";

/** The arguments of `execute` are typed by the schema, and the model's are checked against it before it runs. */
export const addNumbers = defineTool({
  name: "add_numbers",
  description: "Calculate the sum of two numbers, such as 2 + 3.",
  parameters: Type.Object({ expression: Type.String() }),
  annotations: { readOnlyHint: true },
  execute: ({ expression }) => String(expression.split("+").reduce((sum, part) => sum + Number(part), 0)),
});
