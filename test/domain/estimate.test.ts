import { readFileSync } from "node:fs";
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Content } from "../../src/domain/content.js";
import { estimateAll, estimateTokens, estimateTools } from "../../src/domain/estimate.js";
import { assistantMessage, type AgentMessage, toolResultMessage, userMessage } from "../../src/domain/message.js";
import { stampMessage } from "../../src/domain/stamp-message.js";
import { textTokens } from "../../src/domain/text-tokens.js";
import { okResult } from "../../src/domain/tool.js";
import { toolDef } from "../../src/testkit/index.js";

/** Bytes that repeat from run to run and look like chance. */
function noise(length: number): Buffer {
  let state = 1;
  return Buffer.from(
    Array.from({ length }, () => {
      state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
      return (state >> 16) & 255;
    }),
  );
}

const rows = Array.from({ length: 30 }, (_, id) => ({
  id: id * 137,
  name: `user ${id}`,
  on: id % 2 === 0,
  score: id / 8,
}));

const texts: Readonly<Record<string, string>> = {
  English: "In a distributed system every message may come twice, and nobody can tell which was first without a clock.",
  German:
    "Heute ist das Wetter sehr schön, deshalb haben wir beschlossen, im Park spazieren zu gehen und Freunde zu treffen.",
  Finnish:
    "Tänään on erittäin kaunis sää, joten päätimme lähteä kävelylle puistoon. Matkalla tapasimme vanhan ystävän.",
  Polish: "Wszyscy ludzie rodzą się wolni i równi pod względem swej godności i swych praw.",
  Czech: "Všichni lidé rodí se svobodní a sobě rovní co do důstojnosti a práv.",
  Vietnamese: "Hôm nay thời tiết rất đẹp nên chúng tôi quyết định đi dạo trong công viên và gặp một người bạn cũ.",
  Russian: "Сегодня очень хорошая погода, поэтому мы решили прогуляться в парке и встретили старого друга.",
  Greek: "Σήμερα ο καιρός είναι πολύ καλός, γι' αυτό αποφασίσαμε να κάνουμε μια βόλτα στο πάρκο.",
  Arabic: "الطقس اليوم جميل جدا، لذلك قررنا أن نتنزه في الحديقة والتقينا بصديق قديم غير عمله مؤخرا.",
  Hebrew: "מזג האוויר היום טוב מאוד, ולכן החלטנו לטייל בפארק ופגשנו חבר ותיק שהחליף עבודה לאחרונה.",
  Hindi: "आज मौसम बहुत अच्छा है, इसलिए हमने पार्क में टहलने का फैसला किया और एक पुराना दोस्त मिला।",
  Bengali: "আজ আবহাওয়া খুব ভালো, তাই আমরা পার্কে হাঁটতে যাওয়ার সিদ্ধান্ত নিয়েছি।",
  Tamil: "இன்று வானிலை மிகவும் நன்றாக உள்ளது, எனவே பூங்காவில் நடக்க முடிவு செய்தோம்.",
  Thai: "วันนี้อากาศดีมาก เราจึงตัดสินใจไปเดินเล่นที่สวนสาธารณะและได้พบกับเพื่อนเก่าคนหนึ่ง",
  Georgian: "დღეს ძალიან კარგი ამინდია, ამიტომ გადავწყვიტეთ პარკში გასეირნება.",
  Amharic: "ዛሬ የአየር ሁኔታው በጣም ጥሩ ነው፣ ስለዚህ በፓርኩ ውስጥ ለመራመድ ወሰንን።",
  Chinese: "今天天气很好，我们决定去公园散步。路上遇到了一位老朋友，他告诉我最近换了工作，正在学习人工智能。",
  Japanese: "今日は天気がとても良いので、公園を散歩することにしました。途中で古い友人に会いました。",
  Korean: "오늘은 날씨가 매우 좋아서 공원에서 산책하기로 했습니다. 길에서 오랜 친구를 만났습니다.",
  emoji: "😀🎉👍🏽🚀❤️👨‍👩‍👧‍👦🇩🇪🤷‍♀️✨🔥",
  TypeScript: readFileSync("src/agent/conversation.ts", "utf8"),
  Markdown: readFileSync("docs/sessions.md", "utf8"),
  JSON: JSON.stringify(rows),
  "JSON with indentation": JSON.stringify(rows, undefined, 2),
  numbers: rows.map(({ id }) => id * 7_919 + 0.5).join(", "),
  base64: noise(3_000).toString("base64"),
  hex: noise(2_000).toString("hex"),
  "letters of a gene": Array.from(noise(3_000), (byte) => "acgt"[byte & 3]).join(""),
  "letters of a protein": Array.from(noise(3_000), (byte) => "ACDEFGHIKLMNPQRSTVWY"[byte % 20]).join(""),
  "bytes that are no text": Array.from(noise(3_000), (byte) => String.fromCharCode(byte & 7)).join(""),
  "nothing but zeros": "\0".repeat(3_000),
  "nothing but line breaks": "\n".repeat(3_000),
  boxes: "┌──────┬─────┐\n│ name │ age │\n├──────┼─────┤\n│ Ann  │  41 │\n└──────┴─────┘\n".repeat(5),
  mathematics: "∀x∈ℝ: ∃y>0 such that ∑ᵢ xᵢ² ≤ ∫₀^∞ e^{-t²} dt ≈ √π/2 → ∇·E = ρ/ε₀",
  "blank lines": "a\n\n\n\n    b\n\n        c\n".repeat(40),
};

describe("the estimate of text", () => {
  test.each(Object.entries(texts))("is within half to double of a real tokenizer's count for %s", (_, text) => {
    const ratio = textTokens(text) / countTokens(text);
    expect(ratio).toBeGreaterThan(0.6);
    expect(ratio).toBeLessThan(1.7);
  });

  test("is within a fifth for all of them together", () => {
    const all = Object.values(texts);
    const sum = (count: (text: string) => number): number => all.reduce((tokens, text) => tokens + count(text), 0);
    expect(Math.abs(sum(textTokens) / sum(countTokens) - 1)).toBeLessThan(0.2);
  });

  test("F160: 400,000 characters of base64 or hex count for what they cost", () => {
    expect(textTokens(noise(300_000).toString("base64"))).toBeGreaterThan(160_000);
    expect(textTokens(noise(200_000).toString("hex"))).toBeGreaterThan(160_000);
  });

  test("F160: so do as many letters that are no words, and as many bytes that are no text", () => {
    const bytes = noise(400_000);
    expect(textTokens(Array.from(bytes, (byte) => "ACGT"[byte & 3]).join(""))).toBeGreaterThan(160_000);
    expect(textTokens(Array.from(bytes, (byte) => String.fromCharCode(97 + (byte % 26))).join(""))).toBeGreaterThan(
      160_000,
    );
    expect(textTokens(Array.from(bytes, (byte) => String.fromCharCode(byte & 7)).join(""))).toBeGreaterThan(160_000);
  });

  test("is a count for any text at all, and no less for more of it", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), fc.string({ unit: "binary" }), (text, more) => {
        const tokens = textTokens(text);
        expect(tokens).toBeGreaterThanOrEqual(0);
        expect(Number.isFinite(tokens)).toBe(true);
        // A text that is parted may cost a token more at the border, or lose what the factor for encodings adds.
        expect(textTokens(text + more)).toBeGreaterThan(tokens * 0.7 - 2);
      }),
    );
  });

  test("takes texts of many megabytes: time that grew faster than the text would not end", () => {
    const text = Object.values(texts).join("\n");
    const repeats = Math.ceil(10_000_000 / text.length);
    expect(textTokens(text.repeat(repeats)) / repeats / textTokens(text)).toBeCloseTo(1, 1);
  });
});

const stored = (message: Parameters<typeof stampMessage>[0]): AgentMessage => stampMessage(message, "m", 0, "message");
const image = (base64: string): Content => ({ type: "image", mimeType: "image/png", source: { base64 } });

/** The head of a PNG of this size, and what fills it. */
function png(width: number, height: number, length = 100): string {
  const head = Buffer.alloc(length);
  head.write("\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "latin1");
  head.writeUInt32BE(width, 16);
  head.writeUInt32BE(height, 20);
  return head.toString("base64");
}

function jpeg(width: number, height: number): string {
  const metadata = Buffer.alloc(2_000, 7);
  metadata.writeUInt16BE(0xffe1, 0);
  metadata.writeUInt16BE(metadata.length - 2, 2);
  const frame = Buffer.from([0xff, 0xc0, 0, 17, 8, height >> 8, height & 255, width >> 8, width & 255, 3]);
  return Buffer.concat([Buffer.from([0xff, 0xd8]), metadata, frame]).toString("base64");
}

function gif(width: number, height: number): string {
  return Buffer.from(
    ["G", "I", "F", "8", "9", "a"]
      .map((letter) => letter.charCodeAt(0))
      .concat([width & 255, width >> 8, height & 255, height >> 8, 0, 0]),
  ).toString("base64");
}

function webp(width: number, height: number): string {
  const head = Buffer.alloc(40);
  head.write("RIFF\0\0\0\0WEBPVP8X", "latin1");
  head.writeUIntLE(width - 1, 24, 3);
  head.writeUIntLE(height - 1, 27, 3);
  return head.toString("base64");
}

describe("the estimate of a picture", () => {
  test("F158: is bounded, not zero, and the same whatever the length of its data, also in a result and a data: address", () => {
    for (const length of [1_000, 4_000_000]) {
      const data = "A".repeat(length);
      const result = toolResultMessage(
        { id: "c", name: "f", arguments: {} },
        { content: [image(data)], isError: false },
      );
      const address: Content = {
        type: "image",
        mimeType: "image/png",
        source: { url: `data:image/png;base64,${data}` },
      };
      for (const message of [userMessage([image(data)]), result, userMessage([address])]) {
        expect(estimateTokens(stored(message))).toBe(1_004);
      }
    }
  });

  test.each([
    ["PNG", png],
    ["JPEG with its size behind metadata", jpeg],
    ["GIF", gif],
    ["WebP", webp],
  ])("follows the pixels of a %s, down to 100 and up to 1,600 tokens", (_, make) => {
    const tokens = (width: number, height: number): number =>
      estimateTokens(stored(userMessage([image(make(width, height))]))) - 4;
    expect([tokens(10, 10), tokens(750, 500), tokens(1_000, 750), tokens(8_000, 6_000)]).toEqual([
      100, 500, 1_000, 1_600,
    ]);
  });

  test("of damaged or foreign data is that of an unknown one", () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.uint8Array().map((bytes) => Buffer.from(bytes).toString("base64")),
        ),
        (data) => {
          const tokens = estimateTokens(stored(userMessage([image(data)])));
          expect(tokens).toBeGreaterThanOrEqual(104);
          expect(tokens).toBeLessThanOrEqual(1_604);
        },
      ),
    );
    expect(estimateTokens(stored(userMessage([image(png(500, 500).slice(0, 20))])))).toBe(1_004);
  });
});

describe("the estimate of files, calls and tools", () => {
  const file = (mimeType: string, bytes: number): number =>
    estimateTokens(stored(userMessage([{ type: "file", mimeType, source: { base64: "A".repeat((bytes / 3) * 4) } }]))) -
    4;

  test("follows a file's length by its kind, within bounds", () => {
    expect(file("text/csv", 12_000)).toBe(3_000);
    expect(file("audio/mpeg", 960_000)).toBe(1_920);
    expect(file("application/pdf", 300_000)).toBe(6_000);
    expect(file("application/pdf", 3)).toBe(100);
    expect(file("video/mp4", 93_000_000)).toBe(100_000);
    const elsewhere = userMessage([
      { type: "file", mimeType: "application/pdf", source: { url: "https://x.test/a.pdf" } },
    ]);
    expect(estimateTokens(stored(elsewhere))).toBe(1_004);
  });

  test("counts what a call says, and structured results only where the model sees them", () => {
    const call = { id: "c", name: "f", arguments: { text: "word ".repeat(300) } };
    const asked = estimateTokens(stored(assistantMessage([{ type: "toolCall", ...call }])));
    expect(asked).toBeGreaterThan(300);
    const structured = { rows };
    const shown = toolResultMessage(call, { content: [], structured, isError: false });
    expect(estimateTokens(stored(shown))).toBeGreaterThan(300);
    expect(estimateTokens(stored(toolResultMessage(call, { ...okResult("ok"), structured })))).toBeLessThan(10);
  });

  test("counts the schemas of tools within a half of a real tokenizer's count", () => {
    const properties = Object.fromEntries(
      Array.from({ length: 12 }, (_, n) => [
        `field${n}`,
        { type: "string", description: `What the field ${n} is for.` },
      ]),
    );
    const def = toolDef("search_orders", "Finds orders.", { type: "object", properties, required: ["field1"] });
    const counted = countTokens(JSON.stringify([def.name, def.description, def.inputSchema]));
    expect(estimateTools([def]) / counted).toBeGreaterThan(0.8);
    expect(estimateTools([def]) / counted).toBeLessThan(1.5);
    expect(estimateTools([])).toBe(0);
  });

  test("of a stored message is made once, and of one that may still change every time", () => {
    const frozen = stored(userMessage("hello ".repeat(100)));
    expect(estimateTokens(frozen)).toBe(estimateTokens(frozen));
    const open = { id: "m", at: 0, role: "user" as const, content: [{ type: "text" as const, text: "hello" }] };
    const before = estimateAll([open]);
    open.content.push({ type: "text", text: " and much more" });
    expect(estimateAll([open])).toBeGreaterThan(before);
  });
});
