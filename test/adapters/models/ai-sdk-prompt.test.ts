import type { LanguageModelV4Message } from "@ai-sdk/provider";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { toProviderTranscript } from "../../../src/adapters/models/ai-sdk/ai-sdk-prompt.js";
import { legalTranscript } from "../../../src/adapters/models/wire/legal-transcript.js";
import { WireNames } from "../../../src/adapters/models/wire/wire-names.js";
import type { Message } from "../../../src/domain/message.js";
import { FOREIGN, storedTranscripts } from "./stored-transcripts.js";

const own = fc.constantFrom({ anthropic: { signature: "OWN-S" } }, { google: { thoughtSignature: "OWN-S" }, x: 7 });
const names = new WireNames(["f", "g", "fs.list"], { first: "letter" });
const sent = (messages: readonly Message[]) =>
  toProviderTranscript(messages, { names, provider: "own", replays: true });

const check = (law: (prompt: readonly LanguageModelV4Message[], messages: readonly Message[]) => void): void =>
  fc.assert(
    fc.property(storedTranscripts(own), (messages) => {
      law(sent(messages), messages);
    }),
    { numRuns: 300 },
  );

describe("the prompt for a model of the AI SDK, whatever is stored", () => {
  it("answers the calls of a reply in one message right behind it, in order, and nothing else", () => {
    check((prompt) => {
      prompt.forEach((message, at) => {
        const calls = message.role === "assistant" ? message.content.filter(({ type }) => type === "tool-call") : [];
        const next = prompt[at + 1];
        const results = next?.role === "tool" ? next.content : [];
        const idsOf = (list: readonly object[]) => list.map((one) => (one as { toolCallId?: string }).toolCallId);
        if (message.role !== "tool") expect(idsOf(results)).toEqual(idsOf(calls));
        else expect(prompt[at - 1]?.role).toBe("assistant");
      });
    });
  });

  it("has an id of its own for each call of the conversation, of the form that every provider takes", () => {
    check((prompt) => {
      const ids = prompt.flatMap(({ role, content }) =>
        role === "assistant" ? content.flatMap((part) => (part.type === "tool-call" ? [part.toolCallId] : [])) : [],
      );
      for (const id of ids) expect(id).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
      expect(new Set(ids).size).toBe(ids.length);
    });
  });

  it("holds nothing empty or blank, legal names and arguments that are objects", () => {
    check((prompt) => {
      for (const { role, content } of prompt) {
        expect(content.length).toBeGreaterThan(0);
        if (role === "system") expect(content.trim()).not.toBe("");
        else
          for (const part of content) {
            if (part.type === "text" && role === "user") expect(part.text.trim()).not.toBe("");
            if (part.type === "text") expect(part.text === "" && part.providerOptions === undefined).toBe(false);
            if ("toolName" in part) expect(part.toolName).toMatch(/^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$/);
            if (part.type === "tool-call") expect(Object.prototype.toString.call(part.input)).toBe("[object Object]");
          }
        if (role === "assistant")
          expect(
            content.some(({ type, ...part }) => type === "tool-call" || ("text" in part && part.text.trim() !== "")),
          ).toBe(true);
      }
    });
  });

  it("begins with its instructions, and holds all that the user says, in order", () => {
    check((prompt, messages) => {
      const first = prompt.findIndex(({ role }) => role !== "system");
      if (first >= 0) expect(prompt.slice(first).filter(({ role }) => role === "system")).toEqual([]);
      const said = legalTranscript(messages)
        .flatMap((one) => (one.role === "user" ? one.content : []))
        .flatMap((one) => (one.type === "text" && one.text.trim() !== "" ? [one.text] : []));
      const heard = prompt
        .flatMap((one) => (one.role === "user" ? one.content : []))
        .flatMap((one) =>
          one.type === "text" && !/^(?:<system>|\[An? \w+ that cannot be shown)/.test(one.text) ? [one.text] : [],
        );
      expect(heard).toEqual(said);
    });
  });

  it("tells no provider what another gave, and changes nothing that is stored", () => {
    check((prompt, messages) => {
      expect(JSON.stringify(prompt)).not.toContain(FOREIGN);
      const before = JSON.stringify(messages);
      expect(JSON.stringify(sent(messages))).toBe(JSON.stringify(prompt));
      expect(JSON.stringify(messages)).toBe(before);
    });
  });
});
