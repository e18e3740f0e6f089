import { createMcpHandler, fromJsonSchema, McpServer } from "@modelcontextprotocol/server";
import { expect, test } from "vitest";
import { started } from "../../../support/hostile-mcp.js";

const inputSchema = {
  type: "object" as const,
  properties: {
    region: { type: "string", "x-mcp-header": "Region" },
    count: { type: "integer", "x-mcp-header": "Count" },
    deep: { type: "object", properties: { dry: { type: "boolean", "x-mcp-header": "Dry" } } },
    free: { type: "string" },
  },
};

test("arguments that a server wants in headers too stand there, and it takes the call", async () => {
  const handler = createMcpHandler(() => {
    const server = new McpServer({ name: "sdk", version: "1" });
    server.registerTool("f", { description: "Repeats.", inputSchema: fromJsonSchema(inputSchema) }, (args) => ({
      content: [{ type: "text", text: JSON.stringify(args) }],
    }));
    return server;
  });
  const seen: Headers[] = [];
  const fetch = async (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
    const request = new Request(input, init);
    seen.push(request.headers);
    return handler.fetch(request);
  };
  await using s = await started({ servers: { s: { url: "http://localhost/mcp", protocol: "auto", fetch } } });
  for (const args of [
    {},
    { free: "x" },
    { region: "eu", count: -5, deep: { dry: false }, free: "x" },
    { region: "zürich\r\nx-evil: 1" },
    { region: " eu" },
    { region: "eu " },
    { region: "" },
    { region: "=?base64?ZXU=?=" },
  ])
    expect(JSON.parse(await s.text("s__f", args))).toEqual(args);
  const params = seen.map((headers) => [...headers].filter(([name]) => name.startsWith("mcp-param-")));
  expect(params).toContainEqual([
    ["mcp-param-count", "-5"],
    ["mcp-param-dry", "false"],
    ["mcp-param-region", "eu"],
  ]);
  await handler.close();
});
