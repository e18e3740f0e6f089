import fc from "fast-check";
import { expect, test } from "vitest";
import {
  errorResult,
  okResult,
  stopResponse,
  testConfig,
  textStream,
  toolCallResponse,
  toolCallsResponse,
  toolCallStream,
  toolDef,
} from "../../src/testkit/builders.js";

test("a text stream has exactly n deltas that join to the text, and then one finish", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), fc.integer({ min: 1, max: 40 }), (text, pieces) => {
      const chunks = textStream(text, pieces);
      const deltas = chunks.flatMap((chunk) => (chunk.type === "textDelta" ? [chunk.text] : []));
      expect(deltas).toHaveLength(pieces);
      expect(deltas.join("")).toBe(text);
      expect(deltas.every((delta) => delta.isWellFormed() || !text.isWellFormed())).toBe(true);
      expect(chunks.at(-1)).toEqual({ type: "finish", reason: "stop" });
      expect(chunks).toHaveLength(pieces + 1);
    }),
  );
  expect(() => textStream("x", 0)).toThrow(RangeError);
  expect(() => textStream("x", 1.5)).toThrow(RangeError);
});

test("replies carry their text or their calls in order, with the finish reason that goes with them", () => {
  expect(stopResponse("hi")).toEqual({ parts: [{ type: "text", text: "hi" }], finishReason: "stop" });
  expect(stopResponse("").parts).toEqual([]);
  const one = { type: "toolCall", id: "c1", name: "weather", arguments: { city: "Bern" } };
  expect(toolCallResponse("weather", "c1", { city: "Bern" })).toEqual({ parts: [one], finishReason: "tool-calls" });
  const two = toolCallsResponse({ id: "c1", name: "a", arguments: {} }, { id: "c2", name: "b", arguments: {} });
  expect(two.parts.map((part) => part.type === "toolCall" && part.id)).toEqual(["c1", "c2"]);
  expect(toolCallStream("weather", "c1", { city: "Bern" })[0]).toMatchObject({ argumentsDelta: '{"city":"Bern"}' });
});

test("a tool definition takes any object unless a schema is given", () => {
  expect(toolDef("weather")).toEqual({
    name: "weather",
    description: "The tool weather.",
    inputSchema: { type: "object" },
  });
  expect(toolDef("weather", "Tells it.", { type: "object", required: ["city"] }).inputSchema["required"]).toEqual([
    "city",
  ]);
});

test("results and the test config are those of the framework, with overrides on top", () => {
  expect(okResult("fine")).toMatchObject({ isError: false });
  expect(errorResult("bad")).toMatchObject({ isError: true });
  expect(testConfig({ maxToolRounds: 2, temperature: 0 })).toMatchObject({ maxToolRounds: 2, temperature: 0 });
  expect(testConfig().maxToolRounds).toBe(8);
});
