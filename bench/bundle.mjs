import assert from "node:assert/strict";
import { resolve } from "node:path";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { figure } from "./figures.mjs";

const application = `
  export { Agent } from "ennead";
  export { OpenAiChatModel } from "ennead/models/openai-chat";
  export { defineTool } from "ennead/tools";
`;

/** The size of an application's share of the package, bundled and minified without the schema library, in units of 1,000 bytes. */
export async function bundleFigures() {
  const { outputFiles } = await build({
    stdin: { contents: application, resolveDir: resolve(import.meta.dirname, ".."), loader: "js" },
    bundle: true,
    minify: true,
    format: "esm",
    platform: "node",
    target: "node22",
    external: ["@sinclair/typebox", "@sinclair/typebox/*"],
    write: false,
  });
  const bytes = outputFiles[0].contents;
  assert.match(outputFiles[0].text, /chat\/completions/, "the bundle holds no model");
  const note = `${(bytes.length / 1000).toFixed(1)} KB before gzip`;
  return [figure("bundle.gzip", { value: gzipSync(bytes, { level: 9 }).length / 1000, note })];
}
