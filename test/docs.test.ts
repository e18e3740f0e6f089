import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import ts from "typescript";
import { describe, expect, test } from "vitest";
import { guides, quotesOf, synced } from "../scripts/docs.ts";

const compiled = (): ReadonlySet<string> => {
  const { config } = ts.readConfigFile("tsconfig.json", (path) => readFileSync(path, "utf8")) as { config: unknown };
  return new Set(ts.parseJsonConfigFileContent(config, ts.sys, resolve(".")).fileNames);
};

const linksOf = (text: string): readonly string[] =>
  [...text.replaceAll(/^```[\s\S]*?^```$/gm, "").matchAll(/\]\(([^)\s#]+)[^)]*\)/g)]
    .map(([, target = ""]) => target)
    .filter((target) => !/^[a-z]+:/.test(target));

describe.each(guides())("%s", (path) => {
  const text = readFileSync(path, "utf8");

  test("quotes only files that are compiled", () => {
    const files = compiled();
    for (const quote of quotesOf(text)) expect(files.has(resolve(quote.split("#")[0] ?? "")), quote).toBe(true);
  });

  test("quotes them as they are (npm run docs brings them up to date)", () => {
    expect(text).toBe(synced(text));
  });

  test("links to the whole file of each excerpt, since an excerpt shows no imports", () => {
    const links = new Set(linksOf(text).map((link) => join(dirname(path), link)));
    for (const quote of quotesOf(text).filter((name) => name.includes("#")))
      expect(links, quote).toContain(quote.split("#")[0]);
  });

  test("links to files that exist", () => {
    for (const link of linksOf(text)) expect(existsSync(join(dirname(path), link)), link).toBe(true);
  });
});

test("each decision has a number of its own, in its name and in its title", () => {
  const names = readdirSync("docs/decisions").sort();
  const numbers = names.map((_, at) => String(at + 1).padStart(4, "0"));
  expect(names.map((name) => name.slice(0, 5))).toEqual(numbers.map((number) => `${number}-`));
  const titles = names.map((name) => readFileSync(join("docs/decisions", name), "utf8").slice(0, 7));
  expect(titles).toEqual(numbers.map((number) => `# ${number} `));
});

describe("the check of the guides", () => {
  test("refuses code that names no file", () => {
    expect(() => quotesOf("```ts\nlet a = 1;\n```\n")).toThrow("names no file");
    expect(() => quotesOf("```js file=a.js\nlet a = 1;\n```\n")).toThrow("names no file");
  });

  test("sees a copy that differs from its file", () => {
    const stale = "```ts file=scripts/exports-map.ts\nold\n```\n";
    expect(synced(stale)).not.toBe(stale);
    expect(synced(synced(stale))).toBe(synced(stale));
  });
});
