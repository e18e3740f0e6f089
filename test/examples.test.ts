import { existsSync, readdirSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { format } from "node:util";
import { describe, expect, test } from "vitest";

/** An example is a script. Lines that begin with `//> ` say what it prints, in order. */
const examples = existsSync("examples") ? readdirSync("examples").filter((name) => name.endsWith(".ts")) : [];

const promised = (text: string): readonly string[] =>
  [...text.matchAll(/^\s*\/\/>(?: (.*))?$/gm)].map(([, line = ""]) => line.trimEnd());

async function printedBy(run: () => Promise<unknown>): Promise<readonly string[]> {
  const log = console.log;
  const write = process.stdout.write;
  let printed = "";
  console.log = (...values: unknown[]) => {
    printed += `${format(...values)}\n`;
  };
  process.stdout.write = (chunk: string | Uint8Array) => {
    printed += String(chunk);
    return true;
  };
  try {
    await run();
  } finally {
    console.log = log;
    process.stdout.write = write;
  }
  return printed
    .trimEnd()
    .split("\n")
    .map((line) => line.trimEnd());
}

describe("examples", () => {
  test.each(examples)("%s prints what it says", async (name) => {
    const path = resolve("examples", name);
    const expected = promised(readFileSync(path, "utf8"));
    expect(expected, "an example says what it prints in lines that begin with //>").not.toEqual([]);
    expect(await printedBy(() => import(path))).toEqual(expected);
  });

  test("output that differs is seen", async () => {
    const printed = await printedBy(async () => {
      console.log("one %d", 1);
      await Promise.resolve();
      process.stdout.write("two\n");
    });
    expect(printed).toEqual(promised("//> one 1\n  //> two\n"));
    expect(printed).not.toEqual(promised("//> one 1\n"));
  });
});
