import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { figure } from "./figures.mjs";

const root = resolve(import.meta.dirname, "..");
const application = `
  export { Agent } from "ennead";
  export { OpenAiChatModel } from "ennead/models/openai-chat";
  export { defineTool } from "ennead/tools";
`;

/** The size of what an application bundles, in units of 1,000 bytes: from the sources without the schema library, and from `dist` as it is published. */
export async function bundleFigures() {
  const sources = await sizeFrom(root, {
    tsconfig: join(root, "tsconfig.json"),
    external: ["@sinclair/typebox", "@sinclair/typebox/*"],
  });
  return [figure("bundle.gzip", sources), figure("bundle.published", await publishedSize())];
}

/** Resolves the package from a folder of its own, where no tsconfig leads to the sources. */
async function publishedSize() {
  const place = mkdtempSync(join(tmpdir(), "ennead-bundle-"));
  try {
    mkdirSync(join(place, "node_modules"));
    symlinkSync(root, join(place, "node_modules", "ennead"), "dir");
    return await sizeFrom(place, { preserveSymlinks: true });
  } finally {
    rmSync(place, { recursive: true, force: true });
  }
}

async function sizeFrom(resolveDir, options) {
  const { outputFiles, metafile } = await build({
    stdin: { contents: application, resolveDir, loader: "js" },
    absWorkingDir: resolveDir,
    bundle: true,
    minify: true,
    format: "esm",
    platform: "node",
    target: "node22",
    metafile: true,
    write: false,
    ...options,
  });
  const [{ contents, text }] = outputFiles;
  assert.match(text, /chat\/completions/, "the bundle holds no model");
  const published = Object.keys(metafile.inputs).some((file) => file.startsWith("node_modules/ennead/dist/"));
  assert.equal(published, resolveDir !== root, "the bundle was made of the wrong files");
  const note = `${(contents.length / 1000).toFixed(1)} KB before gzip`;
  return { value: gzipSync(contents, { level: 9 }).length / 1000, note };
}
