import { expectEqual, expectThat } from "./expectations.js";
import { found, type MemoryPortClaim, storeAll } from "./memory-fixture.js";

/** Queries without anything to look for. */
const EMPTY = [
  "",
  " ",
  "\n",
  "\t\u00a0",
  "!!!",
  '"',
  "'",
  "*",
  "()",
  "-",
  "%",
  "...",
  "\\",
  "\u0000",
  "\ud800",
  "?!*&|:",
];

/** What search engines take for syntax, around a word. */
const SYNTAX = [
  ...['"zebra', 'zebra"', "zebra*", "zebra AND (", "NOT zebra", "-zebra", "+zebra", "zebra OR", "(zebra", "^zebra"],
  ...["content:zebra", "{content} : zebra", "NEAR(zebra", "NEAR(zebra tiger, 5)", "zebra'; DROP TABLE memory; --"],
  ...["zebra & !", "!zebra", "zebra:*", "zebra <-> ", "zebra | (", "'zebra' & 'no", "zebra:A", "%zebra%", "\\zebra"],
  ...[
    "[zebra]",
    "$1 zebra",
    "?zebra",
    ":zebra @x",
    "zebra\u0000",
    "zebra \ud800",
    "zebra -- x",
    "/*zebra*/",
    "zebra~2",
  ],
  ...["zebra\u2028", "#zebra", "@zebra", "`zebra`", "zebra;", "{{zebra}}", "${zebra}", "zebra\r\n", '""zebra""'],
];

const SCRIPTS: readonly (readonly [content: string, query: string])[] = [
  ["黑猫喜欢吃鱼", "喜欢"],
  ["黑猫喜欢吃鱼", "猫"],
  ["東京都に住んでいます", "東京"],
  ["カタカナのテスト", "テスト"],
  ["서울에서 만나요", "서울"],
  ["ผมชอบแมวมาก", "แมว"],
  ["Я живу в Москве", "москве"],
  ["Zoë au café", "ZOE CAFE"],
  ["ＡＢＣ", "abc"],
  ["नमस्ते दुनिया", "दुनिया"],
  ["مرحبا بالعالم", "بالعالم"],
  ["ship it 🚀 now", "🚀"],
  ["我用TypeScript写代码", "typescript"],
];

/** A query is text, whatever it looks like. */
export const memoryQueryClaims: readonly MemoryPortClaim[] = [
  {
    id: "empty-query",
    title: "a query without a word finds nothing and is no error",
    async check({ memory }) {
      await storeAll(memory, { id: "a", content: "a" }, { id: "b", content: "!!! * \u0000" }, { id: "c", content: "" });
      for (const query of EMPTY) {
        expectEqual(await found(memory, { query }), [], `query ${JSON.stringify(query)}`);
        expectEqual(await found(memory, { query, threshold: -1, filter: {} }), [], `query ${JSON.stringify(query)}`);
      }
    },
  },
  {
    id: "query-syntax",
    title: "what search engines take for syntax is no syntax: the word in it is looked for",
    needs: "search",
    async check({ memory }) {
      await storeAll(memory, "a zebra", "a lion");
      for (const query of SYNTAX) {
        expectEqual((await found(memory, query))[0], "a zebra", `first hit of ${JSON.stringify(query)}`);
      }
    },
  },
  {
    id: "query-wildcards",
    title: "no sign in a query stands for other signs",
    needs: "words",
    async check({ memory }) {
      await storeAll(memory, "zebra");
      for (const query of ["zeb*", "zeb%", "z*", "%", "zeb:*", "ebra", "zeb.*", "z?bra", "zebr~1", "zeb…"]) {
        expectEqual(await found(memory, query), [], `query ${JSON.stringify(query)}`);
      }
    },
  },
  {
    id: "long-query",
    title: "a query of ten thousand words, or of a million characters, is answered; its last word counts",
    needs: "search",
    async check({ memory }) {
      await storeAll(memory, "a zebra", "a lion");
      const words = Array.from({ length: 10_000 }, (_, n) => `w${n}`).join(" ");
      expectEqual((await found(memory, `${words} zebra`))[0], "a zebra", "the first hit");
      expectEqual((await found(memory, `${"the ".repeat(10_000)}zebra`))[0], "a zebra", "the first hit");
      const long = await found(memory, `${"x".repeat(1_000_000)} zebra`);
      expectEqual(long[0], "a zebra", "the first hit");
    },
  },
  {
    id: "scripts",
    title:
      "words are found in every script, whatever their case, width and accents, with or without spaces between them",
    needs: "scripts",
    async check({ memory }) {
      await storeAll(memory, "nothing of the kind", ...SCRIPTS.map(([content]) => content));
      for (const [content, query] of SCRIPTS) {
        const first = (await found(memory, query))[0];
        expectThat(first === content, `"${query}" does not find "${content}"`);
      }
    },
  },
];
