import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { GeminiContent } from "../../../src/adapters/models/gemini/gemini-transcript.js";
import { toProviderTranscript } from "../../../src/adapters/models/gemini/gemini-transcript.js";
import { legalTranscript } from "../../../src/adapters/models/wire/legal-transcript.js";
import { WireNames } from "../../../src/adapters/models/wire/wire-names.js";
import type { AssistantPart, Message, ToolCallPart } from "../../../src/domain/message.js";
import { user } from "./chat-outcome.js";
import { assistant, result, toolCall } from "./gemini-wire.js";
import { FOREIGN, storedTranscripts } from "./stored-transcripts.js";

const context = { names: new WireNames(["f", "g"], { first: "letter" }), provider: "gemini", signed: true };
const sent = (messages: readonly Message[], signed = true) =>
  toProviderTranscript(messages, { ...context, replays: true, signed });
const contentsOf = (messages: readonly Message[]) => sent(messages).contents;
const system = (text: string): Message => ({ role: "system", id: "s", at: 0, content: [{ type: "text", text }] });
const signedCall = (id: string, signature: string): ToolCallPart =>
  toolCall(id, "f", { providerData: { id, thoughtSignature: signature } });

describe("the transcript of this wire", () => {
  it("begins with the instructions, and puts later ones among what the user says", () => {
    expect(
      sent([
        system("be brief"),
        system(" "),
        user("hi"),
        assistant([{ type: "text", text: "yes" }]),
        system("now in French"),
      ]),
    ).toEqual({
      systemInstruction: { parts: [{ text: "be brief" }] },
      contents: [
        { role: "user", parts: [{ text: "hi" }] },
        { role: "model", parts: [{ text: "yes" }] },
        { role: "user", parts: [{ text: "<system>now in French</system>" }] },
      ],
    });
  });

  it("groups all results of a turn's calls in one turn of their own, in the order of the calls (F064, F065, F067)", () => {
    const calls = [toolCall("c1", "f", { arguments: { a: 1 } }), toolCall("c2", "g")];
    expect(contentsOf([user("go"), assistant(calls), user("wait"), result("c2"), result("c1"), user("again")])).toEqual(
      [
        { role: "user", parts: [{ text: "go" }] },
        {
          role: "model",
          parts: [
            { functionCall: { name: "f", args: { a: 1 } }, thoughtSignature: "skip_thought_signature_validator" },
            { functionCall: { name: "g", args: {} } },
          ],
        },
        {
          role: "user",
          parts: [
            { functionResponse: { name: "f", response: { output: "result of c1" } } },
            { functionResponse: { name: "g", response: { output: "result of c2" } } },
          ],
        },
        { role: "user", parts: [{ text: "wait" }, { text: "again" }] },
      ],
    );
  });

  it("answers a call nobody answered, and drops a result nobody asked for (F060, F062)", () => {
    const [, , answered, next] = contentsOf([
      user("go"),
      assistant([toolCall("c1", "f")]),
      user("next"),
      result("ghost"),
    ]);
    const error = expect.stringContaining("interrupted") as string;
    expect(answered).toEqual({ role: "user", parts: [{ functionResponse: { name: "f", response: { error } } }] });
    expect(next).toEqual({ role: "user", parts: [{ text: "next" }] });
  });

  it("holds no blank turn and lets no two of a kind meet (F069, F070)", () => {
    expect(contentsOf([user("one"), assistant([{ type: "text", text: " \n" }]), user(" \t"), user("two")])).toEqual([
      { role: "user", parts: [{ text: "one" }, { text: "two" }] },
    ]);
    expect(contentsOf([])).toEqual([{ role: "user", parts: [{ text: "(no message)" }] }]);
    expect(contentsOf([assistant([{ type: "text", text: "I begin" }])])[0]).toEqual({
      role: "user",
      parts: [{ text: "(no message)" }],
    });
  });

  it("heals arguments that are no object (F090)", () => {
    for (const [stored, args] of [
      ['{"a":1}', { a: 1 }],
      ["{broken", {}],
      [[1], {}],
      [undefined, {}],
    ] as const) {
      const call = toolCall("c1", "f", { arguments: stored as unknown as ToolCallPart["arguments"] });
      expect(contentsOf([user("go"), assistant([call]), result("c1")])[1]?.parts[0]).toMatchObject({
        functionCall: { args },
      });
    }
  });

  it("gives back thoughts, signatures and ids as they came (F077, F079, F080)", () => {
    const parts: readonly AssistantPart[] = [
      { type: "reasoning", text: "plain" },
      { type: "reasoning", text: "", providerData: { thoughtSignature: "S1" } },
      { type: "text", text: "a" },
      { type: "text", text: "", providerData: { thoughtSignature: "S2" } },
      signedCall("c1", "S3"),
      toolCall("call_1", "f"),
    ];
    const [, model, answers] = contentsOf([user("go"), assistant(parts), result("c1"), result("call_1")]);
    expect(model?.parts).toEqual([
      { text: "plain", thought: true },
      { text: "", thought: true, thoughtSignature: "S1" },
      { text: "a" },
      { text: "", thoughtSignature: "S2" },
      { functionCall: { id: "c1", name: "f", args: {} }, thoughtSignature: "S3" },
      { functionCall: { name: "f", args: {} } },
    ]);
    expect(answers?.parts).toMatchObject([{ functionResponse: { id: "c1" } }, { functionResponse: {} }]);
    expect(answers?.parts[1]).not.toHaveProperty("functionResponse.id");
  });

  it("keeps thoughts, signatures and ids of another provider to itself", () => {
    const parts: readonly AssistantPart[] = [
      { type: "reasoning", text: "theirs", signature: "X" },
      { type: "text", text: "a", providerData: { thoughtSignature: "X" } },
      signedCall("c1", "X"),
    ];
    expect(contentsOf([user("go"), assistant(parts, "anthropic"), result("c1")])[1]?.parts).toEqual([
      { text: "a" },
      { functionCall: { name: "f", args: {} }, thoughtSignature: "skip_thought_signature_validator" },
    ]);
    expect(sent([user("go"), assistant(parts, "anthropic"), result("c1")], false).contents[1]?.parts).toEqual([
      { text: "a" },
      { functionCall: { name: "f", args: {} } },
    ]);
  });

  it("tells a failure as an error, and structured data where there is no text", () => {
    const told = (fields: Parameters<typeof result>[1]) =>
      contentsOf([user("go"), assistant([toolCall("c1", "f")]), result("c1", fields)])[2]?.parts[0]?.[
        "functionResponse"
      ];
    expect(told({ isError: true })).toEqual({ name: "f", response: { error: "result of c1" } });
    expect(told({ content: [], structured: { a: [1] } })).toEqual({ name: "f", response: { output: { a: [1] } } });
    expect(told({ content: [], structured: { $ref: "x" } })).toEqual({
      name: "f",
      response: { output: '{"$ref":"x"}' },
    });
    expect(told({ content: [] })).toEqual({ name: "f", response: { output: "" } });
  });

  it("puts files of a result inside of it where the model reads them there, else in the turn behind all results", () => {
    const image = { type: "image", mimeType: "image/png", source: { base64: "AAAA" } } as const;
    const messages = [
      user("go"),
      assistant([toolCall("c1", "f"), toolCall("c2", "g")]),
      result("c1", { content: [image] }),
      result("c2"),
    ];
    const inlineData = { mimeType: "image/png", data: "AAAA" };
    const output = "The result follows as an attachment.";
    expect(sent(messages).contents[2]?.parts[0]).toEqual({
      functionResponse: { name: "f", response: { output }, parts: [{ inlineData }] },
    });
    const [, , results, files] = sent(messages, false).contents;
    expect(results?.parts).toEqual([
      { functionResponse: { name: "f", response: { output } } },
      { functionResponse: { name: "g", response: { output: "result of c2" } } },
    ]);
    expect(files?.parts).toEqual([{ text: "Attachment of the result of f:" }, { inlineData }]);
  });
});

const own = fc.constantFrom({ thoughtSignature: "OWN-S" }, { id: "OWN-1" }, { id: "OWN-1", thoughtSignature: "OWN-S" });
const transcripts = storedTranscripts(own);

const KINDS = ["text", "inlineData", "fileData", "functionCall", "functionResponse"];
type Named = { readonly id?: string; readonly name: string; readonly args?: unknown };
const named = (list: GeminiContent["parts"] | undefined, key: string): readonly Named[] =>
  (list ?? []).flatMap((one) => (one[key] === undefined ? [] : [one[key] as Named]));

describe("whatever is stored", () => {
  const check = (law: (contents: readonly GeminiContent[], messages: readonly Message[]) => void): void =>
    fc.assert(
      fc.property(transcripts, fc.boolean(), (messages, signed) => {
        law(toProviderTranscript(messages, { ...context, provider: "own", replays: true, signed }).contents, messages);
      }),
      { numRuns: 300 },
    );

  it("user, model and results take turns, the user begins, and results are among themselves", () => {
    check((contents) => {
      const kinds = contents.map(({ role, parts }) => {
        const results = named(parts, "functionResponse").length;
        expect([0, parts.length]).toContain(results);
        return results > 0 ? "results" : role;
      });
      expect(kinds[0]).toBe("user");
      kinds.forEach((kind, at) => expect(kind).not.toBe(kinds[at + 1]));
    });
  });

  it("no turn is empty, and each part says exactly one thing, which is not nothing", () => {
    check((contents) => {
      expect(contents.length).toBeGreaterThan(0);
      for (const { parts } of contents) {
        expect(parts.length).toBeGreaterThan(0);
        for (const one of parts) {
          expect(KINDS.filter((kind) => one[kind] !== undefined)).toHaveLength(1);
          expect(one["text"] === "" && one["thoughtSignature"] === undefined).toBe(false);
        }
      }
    });
  });

  it("each turn of calls is followed by as many responses, of their names and ids, in order and first; there are no others", () => {
    check((contents) => {
      contents.forEach(({ role, parts }, at) => {
        const calls = named(role === "model" ? parts : undefined, "functionCall");
        const next = contents[at + 1]?.parts;
        expect(named(next, "functionResponse").map(({ id, name }) => ({ id, name }))).toEqual(
          calls.map(({ id, name }) => ({ id, name })),
        );
        expect(named(next?.slice(0, calls.length), "functionResponse")).toHaveLength(calls.length);
        if (role === "user") expect(named(parts, "functionCall")).toEqual([]);
        for (const { name, args } of calls) {
          expect(name).toMatch(/^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$/);
          expect(typeof args === "object" && args !== null && !Array.isArray(args)).toBe(true);
        }
      });
    });
  });

  it("the user's words are all there, in order", () => {
    check((contents, messages) => {
      const said = legalTranscript(messages)
        .flatMap((one) => (one.role === "user" ? one.content : []))
        .flatMap((one) => (one.type === "text" && one.text.trim() !== "" ? [one.text] : []));
      const heard = contents
        .filter(({ role }) => role === "user")
        .flatMap(({ parts }) => parts.map((one) => one["text"]));
      const marks = /^(?:<system>|Attachment of|\(no message\)|\[An? \w+ that cannot be shown)/;
      expect(heard.filter((one) => typeof one === "string" && !marks.test(one))).toEqual(said);
    });
  });

  it("a signature goes back only to the provider that gave it, and none of its own is lost", () => {
    check((contents, messages) => {
      expect(JSON.stringify(contents)).not.toContain(FOREIGN);
      const replies = legalTranscript(messages, { emptyText: "keep" }).filter((one) => one.role === "assistant");
      const given = replies
        .filter(({ provider }) => provider !== "another")
        .flatMap(({ parts }) => parts.map(({ providerData }) => providerData))
        .filter((data) => JSON.stringify(data ?? null).includes('"thoughtSignature":"OWN-S"'));
      const back = contents.flatMap(({ parts }) => parts.filter((one) => one["thoughtSignature"] === "OWN-S"));
      expect(back).toHaveLength(given.length);
    });
  });

  it("nothing stored is changed, and the same comes out again", () => {
    check((_, messages) => {
      const before = JSON.stringify(messages);
      const first = JSON.stringify(sent(messages));
      expect(JSON.stringify(sent(messages))).toBe(first);
      expect(JSON.stringify(messages)).toBe(before);
    });
  });
});
