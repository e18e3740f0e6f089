import { Readable } from "node:stream";
import { describe, expect, test } from "vitest";
import type { SessionError } from "../../src/domain/errors.js";
import type { Session } from "../../src/domain/session.js";
import { readSession, sessionLines } from "../../src/domain/session-lines.js";
import type { TextSource } from "../../src/domain/text-lines.js";
import {
  everyMessage,
  HOSTILE_IDS,
  HOSTILE_TEXT,
  note,
  sessionOf,
  valueTypes,
  withProto,
} from "../../src/testkit/claims/session-samples.js";

const whole: Session = {
  messages: everyMessage(),
  metadata: { ...valueTypes(), [HOSTILE_TEXT]: HOSTILE_TEXT, ["__proto__"]: withProto() },
  revision: 12,
  compaction: { upTo: "m2", messages: [note("short", HOSTILE_TEXT)] },
  ...{ v2: withProto(), id: "a field of a newer version", count: 9, messages2: [] },
};

const linesOf = (session: Session, id = "s"): string[] => [...sessionLines(id, session)];
const refusal = (source: TextSource): Promise<SessionError> =>
  readSession(source).then(
    () => expect.unreachable("it was read"),
    (error: SessionError) => error,
  );

/** The same text however it comes. */
const ways: readonly (readonly [string, (text: string) => TextSource])[] = [
  ["one text", (text) => text],
  ["its bytes", (text) => Buffer.from(text)],
  ["one byte at a time", (text) => Array.from(Buffer.from(text), (byte) => Uint8Array.of(byte))],
  ["one character at a time", (text) => text.split("")],
  ["a stream", (text) => Readable.from([Buffer.from(text.slice(0, 99)), Buffer.from(text.slice(99))])],
  ["lines that end as on Windows, behind a byte order mark", (text) => `\ufeff${text.replaceAll("\n", "\r\n")}`],
  ["text with blank lines and no last line end", (text) => text.replaceAll("\n", "\n\n").trimEnd()],
];

test.each(ways)(
  "a session comes back from %s as it was, unknown fields, __proto__, NUL and surrogates included",
  async (_, way) => {
    const read = await readSession(way(linesOf(whole).join("")));
    expect(read.id).toBe("s");
    expect(read.session).toStrictEqual(whole);
    const bodies = ({ messages, metadata }: Session): string => JSON.stringify([messages, metadata]);
    expect(bodies(read.session)).toBe(bodies(whole));
  },
);

test.each(HOSTILE_IDS)("the id %j comes back", async (id) => {
  expect((await readSession(linesOf(sessionOf(1, "a"), id))).id).toBe(id);
});

test("a session has one line and one more for each message, well-formed and without control characters", () => {
  const lines = linesOf(whole);
  expect(lines).toHaveLength(1 + whole.messages.length);
  for (const line of lines) {
    expect(line.indexOf("\n")).toBe(line.length - 1);
    expect(line.isWellFormed()).toBe(true);
  }
  expect(JSON.parse(lines[0] ?? "")).toMatchObject({
    format: "ennead.session",
    version: 1,
    id: "s",
    revision: 12,
    count: 6,
  });
});

describe("what is no whole export is refused, and the line is named:", () => {
  const lines = linesOf(sessionOf(3, "a", "b", "c"));
  const without = (index: number): string[] => lines.filter((_, at) => at !== index);
  const changed = (index: number, line: string): string[] => lines.with(index, `${line}\n`);
  const head = (fields: object): string[] => changed(0, JSON.stringify({ ...JSON.parse(lines[0] ?? ""), ...fields }));

  test.each<[string, TextSource, RegExp]>([
    ["nothing", "", /line 1: there is nothing/],
    ["blank lines", "\n \n", /line 1: there is nothing/],
    ["cut after its first line", lines.slice(0, 1), /line 1: .*0 of 3 messages/],
    ["cut between two lines", lines.slice(0, 3), /line 3: .*2 of 3 messages/],
    ["cut within a line", lines.join("").slice(0, -9), /line 4: is no JSON/],
    ["a line in the middle cut", changed(2, lines[2]?.slice(0, 20) ?? ""), /line 3: is no JSON/],
    ["a line missing", without(2), /line 3: holds another message than number 1/],
    ["a line doubled", [...lines.slice(0, 3), ...lines.slice(2)], /line 4: holds another message than number 2/],
    ["two lines changed about", [...lines.slice(0, 2), lines[3] ?? "", lines[2] ?? ""], /line 3: holds another/],
    ["a message too many", [...lines, '{"index":3,"message":{}}'], /line 5: follows the last of 3/],
    ["two exports in one", [...lines, ...lines], /line 5: follows the last of 3/],
    ["a message that is none", changed(1, '{"index":0,"message":7}'), /line 2: holds no message/],
    ["a line of another kind", changed(1, "[]"), /line 2: holds no message/],
    ["a first line that is missing", without(0), /line 1: is no export/],
    ["another format", head({ format: "other" }), /line 1: is no export/],
    ["no version", head({ version: undefined }), /line 1: has no version/],
    ["no id", head({ id: 5 }), /line 1: does not say/],
    ["no metadata", head({ session: {} }), /line 1: does not say/],
    ["a count that is none", head({ count: -1 }), /line 1: does not say/],
    ["a damaged compaction", head({ session: { metadata: {}, compaction: { upTo: "a" } } }), /line 1: .*compaction/],
    ["a text", "Dear sirs,\nhello\n", /line 1: is no export/],
    ["another JSON", '{\n"a": 1\n}\n', /line 1: is no export/],
    ["other lines of JSON", '{"role":"user","content":"hi"}\n', /line 1: is no export/],
    [
      "bytes that are no text",
      [Buffer.from(lines.slice(0, 2).join("")), Uint8Array.of(0x22, 0xff, 0x0a)],
      /line 3: is no UTF-8/,
    ],
    ["a character cut in the middle", Buffer.from(`${lines[0]}\u{1f600}`).subarray(0, -1), /line 2: is no UTF-8/],
  ])("%s", async (_, source, message) => {
    const error = await refusal(source);
    expect(error).toMatchObject({ name: "SessionError", kind: "corrupt" });
    expect(error.message).toMatch(message);
  });

  test("an export of a newer version, which it could only misread", async () => {
    const error = await refusal(head({ version: 2 }));
    expect(error).toMatchObject({ name: "SessionError", kind: "load" });
    expect(error.message).toContain("line 1: the export has version 2, this version of the package reads 1");
  });

  test("a source that fails, which is closed", async () => {
    let closed = false;
    const failing = async function* (): AsyncGenerator<string> {
      try {
        yield lines[0] ?? "";
        throw new Error("the disk is gone");
      } finally {
        closed = true;
      }
    };
    expect(await refusal(failing())).toMatchObject({ kind: "load", cause: { message: "the disk is gone" } });
    expect(closed).toBe(true);
  });

  test("a source whose text is damaged, which is closed without being read to its end", async () => {
    let [given, closed] = [0, false];
    const endless = function* (): Generator<string> {
      try {
        for (;;) {
          given += 1;
          yield "no JSON\n";
        }
      } finally {
        closed = true;
      }
    };
    await refusal(endless());
    expect([given, closed]).toEqual([1, true]);
  });

  test("without telling what is in it", async () => {
    const error = await refusal(changed(1, '{"index":0,"message":{"text":"hunter2}'));
    expect(`${error.message} ${String(error.cause)}`).not.toContain("hunter2");
  });
});

test("an export with fields of a newer version in each line is read, and those of session and messages are kept", async () => {
  const [first = "", second = ""] = linesOf({ ...sessionOf(1, "a"), ...{ v2: 1 } });
  const later = [
    JSON.stringify({ ...JSON.parse(first), tool: "newer" }),
    JSON.stringify({ ...JSON.parse(second), tool: "newer" }),
  ];
  expect((await readSession(later.join("\n"))).session).toEqual({ ...sessionOf(1, "a"), v2: 1 });
});

test.each([undefined, 2])(
  "a session that was written before there was a format is read (indented by %s)",
  async (indent) => {
    const text = JSON.stringify(whole, undefined, indent);
    expect(await readSession(text)).toEqual({ id: undefined, session: whole });
  },
);

test("a hundred thousand messages are written and read a line at a time", async () => {
  const messages = Array.from({ length: 100_000 }, (_, n) => note(`m${n}`));
  let longest = 0;
  const watched = function* (): Generator<string> {
    for (const line of sessionLines("s", { messages, metadata: {}, revision: 1 })) {
      longest = Math.max(longest, line.length);
      yield line;
    }
  };
  const { session } = await readSession(watched());
  expect(JSON.stringify(session.messages) === JSON.stringify(messages)).toBe(true);
  expect(longest).toBeLessThan(200);
});
