import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Code in the guides is a copy of files that are compiled and run: a block opens with "ts file=path" or "ts file=path#region". */
const block = /^```(\S+)[^\S\n]*([^\n]*)\n([\s\S]*?)^```$/gm;
const codeLanguages = new Set(["ts", "tsx", "typescript", "js", "jsx", "javascript", "mjs", "cjs"]);

/** README.md, CONTRIBUTING.md and all guides; the API reports are made by a machine and left out. */
export function guides(): readonly string[] {
  const docs = existsSync("docs") ? readdirSync("docs", { recursive: true, encoding: "utf8" }) : [];
  const paths = docs.map((name) => join("docs", name)).filter((path) => !path.startsWith(join("docs", "api")));
  return ["README.md", "CONTRIBUTING.md", ...paths].filter((path) => path.endsWith(".md") && existsSync(path)).sort();
}

/** A file, or the lines between its `// #region name` and `// #endregion name`, without the common indentation. */
export function excerpt(reference: string): string {
  const [path = "", region] = reference.split("#");
  const lines = readFileSync(path, "utf8").trimEnd().split("\n");
  if (region === undefined) return `${lines.join("\n")}\n`;
  const marks = [`// #region ${region}`, `// #endregion ${region}`].map((mark) =>
    lines.findIndex((line) => line.trim() === mark),
  );
  const [start = -1, end = -1] = marks;
  if (start < 0 || end < start) throw new Error(`${path} has no region ${region}`);
  const inside = lines.slice(start + 1, end);
  const indent = Math.min(...inside.filter((line) => line.trim() !== "").map((line) => line.search(/\S/)));
  return `${inside.map((line) => line.slice(indent)).join("\n")}\n`;
}

/** The files that a guide quotes. Throws for code that names no file. */
export function quotesOf(text: string): readonly string[] {
  return [...text.matchAll(block)]
    .filter(([, language = ""]) => codeLanguages.has(language))
    .map(([, language, info = "", body = ""]) => {
      const file = /^file=(\S+)$/.exec(info.trim())?.[1];
      if (language !== "ts" || file === undefined) throw new Error(`a code block names no file: ${body.slice(0, 80)}`);
      return file;
    });
}

/** The guide with every block as its file is now. */
export function synced(text: string): string {
  return text.replace(block, (whole: string, language: string, info: string) => {
    const file = /^file=(\S+)$/.exec(info.trim())?.[1];
    return file === undefined ? whole : `\`\`\`${language} ${info}\n${excerpt(file)}\`\`\``;
  });
}

if (import.meta.main) {
  for (const path of guides()) {
    const text = readFileSync(path, "utf8");
    if (synced(text) !== text) writeFileSync(path, synced(text));
  }
}
