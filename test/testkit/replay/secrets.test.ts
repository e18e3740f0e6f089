import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { StreamChunk } from "../../../src/domain/stream-chunk.js";
import { SECRET, Scrubber } from "../../../src/testkit/replay/scrubber.js";

const KEY = "s3cr3t+/valüe=with?odd&chars";
const base64 = (text: string): string => Buffer.from(text, "utf8").toString("base64");

describe("a declared secret", () => {
  const scrubber = new Scrubber([KEY]);

  test.each([
    ["as it is", KEY],
    ["in JSON text", JSON.stringify({ a: KEY })],
    ["in a URL", `https://x.test/?q=${encodeURIComponent(KEY)}&r=1`],
    ["in base64", base64(KEY)],
    ["in base64 behind one byte", base64(`u${KEY}`)],
    ["in base64 behind two bytes, with more behind it", base64(`us${KEY}:rest`)],
    ["in base64 for URLs", Buffer.from(`user:${KEY}`).toString("base64url")],
    ["in base64 in a URL", encodeURIComponent(base64(`user:${KEY}`))],
    ["in hexadecimal", Buffer.from(KEY).toString("hex")],
  ])("is not found %s", (_, text) => {
    const scrubbed = scrubber.text(`before ${text} behind`);
    expect(scrubbed).toContain(SECRET);
    expect(scrubbed).toMatch(/^before .*behind$/s);
    for (const form of [
      KEY,
      base64(KEY).slice(0, 12),
      encodeURIComponent(KEY),
      "s3cr3t",
      Buffer.from(KEY).toString("hex"),
    ])
      expect(scrubbed).not.toContain(form);
  });

  test("is not found in names of fields, at any depth", () => {
    expect(scrubber.json({ list: [{ [`x-${KEY}`]: [`${KEY}!`] }] })).toEqual({
      list: [{ [`x-${SECRET}`]: [`${SECRET}!`] }],
    });
  });

  test("of three characters is refused: every text would hold it", () => {
    expect(() => new Scrubber(["abc"])).toThrow(new RangeError("a secret has at least 4 characters"));
  });

  test("cut anywhere into pieces is found, and the pieces add up to what the whole text gives", () => {
    const shown = fc.string({ maxLength: 12 });
    const text = fc
      .tuple(shown, fc.constantFrom(KEY, base64(KEY), "sk-abcdefghij0123456789"), shown)
      .map((all) => all.join(" "));
    fc.assert(
      fc.property(text, fc.array(fc.nat(80), { maxLength: 8 }), (whole, cuts) => {
        const ends = [...cuts.map((cut) => Math.min(cut, whole.length)).sort((a, b) => a - b), whole.length];
        const pieces = ends.map((end, index) => whole.slice(ends[index - 1] ?? 0, end));
        const scrubbed = scrubber.pieces(pieces);
        expect(scrubbed).toHaveLength(pieces.length);
        expect(scrubbed.join("")).toBe(scrubber.text(whole));
        expect(scrubbed.join("")).toContain(SECRET);
      }),
    );
  });
});

describe("what has the shape of a secret", () => {
  const scrubber = new Scrubber();
  const jwt = `${base64('{"alg":"HS256"}').replaceAll("=", "")}.${base64('{"sub":"1234567890"}').replaceAll("=", "")}.c2lnbmF0dXJl`;

  test.each([
    ["a key of OpenAI", "use sk-proj-Abc123Def456Ghi789 now", "use [secret] now"],
    ["a key of Anthropic", "sk-ant-api03-abcdefgh_ijklmnop-123", "[secret]"],
    ["a key of Google", "AIzaSyA1234567890abcdefghijklmnopqrstu", "[secret]"],
    ["a token of GitHub", "ghp_abcdefghijklmnopqrstuvwxyz0123456789", "[secret]"],
    ["a key of AWS", "AKIAIOSFODNN7EXAMPLE", "[secret]"],
    ["a bearer token", "Authorization: Bearer abc.DEF_123-x", "Authorization: Bearer [secret]"],
    ["a JWT", `see ${jwt}!`, "see [secret]!"],
    ["a password in a URL", "postgres://me:pa55word@db/x", "postgres://me:[secret]@db/x"],
    ["a token in a query", "https://x.test/?access_token=abcd1234&v=2", "https://x.test/?access_token=[secret]&v=2"],
    ["a field of JSON text", '{"api_key": "whatever it is","n":1}', '{"api_key": "[secret]","n":1}'],
    [
      "a field of JSON text in JSON text",
      String.raw`{"body":"{\"password\":\"pw\",\"n\":1}"}`,
      String.raw`{"body":"{\"password\":\"[secret]\",\"n\":1}"}`,
    ],
    ["a private key", "-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc\n-----END RSA PRIVATE KEY-----.", "[secret]."],
    ["base64 that hides a key", `x ${base64("key=sk-abcdefghij0123456789")} y`, "x [secret] y"],
    ["a URL form that hides a token", "a=Bearer%20abc.DEF_123-x&b=1", "a=[secret]&b=1"],
  ])("is taken out: %s", (_, text, scrubbed) => {
    expect(scrubber.text(text)).toBe(scrubbed);
  });

  test.each([
    "The basic understanding of bearer certificates.",
    "A token is a piece of text: see the secret garden.",
    "skating-is-fun-and-other-long-words",
    "https://x.test/a?page=2&sort=asc",
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ",
    "turn.1 call_abcdefghijklmnopqrstuv",
  ])("leaves ordinary text alone: %s", (text) => {
    expect(scrubber.text(text)).toBe(text);
  });

  test("the text of a field with such a name is taken out whatever it is; what is no text stays", () => {
    const given = {
      Authorization: "x",
      headers: { "x-api-key": "k", "set-cookie": ["a=1", "b=2"], accept: "text/plain" },
      clientSecret: "c",
      max_tokens: 5,
      token: { kind: "t" },
      properties: { password: { type: "string" } },
    };
    expect(scrubber.json(given)).toEqual({
      Authorization: SECRET,
      headers: { "x-api-key": SECRET, "set-cookie": [SECRET, SECRET], accept: "text/plain" },
      clientSecret: SECRET,
      max_tokens: 5,
      token: { kind: "t" },
      properties: { password: { type: "string" } },
    });
  });

  test("is found across chunks of one text, one part of reasoning, or the arguments of one call, but not across them", () => {
    const chunks: StreamChunk[] = [
      { type: "textDelta", text: "key sk-abcdef" },
      { type: "toolCallDelta", index: 0, id: "c1", name: "f", argumentsDelta: '{"pass' },
      { type: "textDelta", text: "ghij0123456789 ok" },
      { type: "toolCallDelta", index: 0, argumentsDelta: 'word":"pw' },
      { type: "reasoningDelta", text: "sk-abcdef" },
      { type: "toolCallDelta", index: 0, argumentsDelta: '1"}' },
      { type: "finish", reason: "stop" },
    ];
    expect(scrubber.chunks(chunks)).toEqual([
      { type: "textDelta", text: "key [secret]" },
      { type: "toolCallDelta", index: 0, id: "c1", name: "f", argumentsDelta: '{"pass' },
      { type: "textDelta", text: " ok" },
      { type: "toolCallDelta", index: 0, argumentsDelta: 'word":"[secret]' },
      { type: "reasoningDelta", text: "sk-abcdef" },
      { type: "toolCallDelta", index: 0, argumentsDelta: '"}' },
      { type: "finish", reason: "stop" },
    ]);
  });

  test.each([
    "a".repeat(200_000),
    "Bearer ".repeat(20_000),
    '"token":"'.repeat(20_000),
    "%41".repeat(60_000),
    "a://b:".repeat(30_000),
    "-----BEGIN PRIVATE KEY-----".repeat(5_000),
  ])("is looked for in linear time", (text) => {
    // In quadratic time this would not end before the test is given up.
    expect(scrubber.text(text).length).toBeGreaterThan(0);
  });
});
