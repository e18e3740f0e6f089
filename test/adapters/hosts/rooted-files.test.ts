import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { rename } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { RootedFiles } from "../../../src/adapters/hosts/rooted-files.js";
import { searchText } from "../../../src/adapters/hosts/text-search.js";

let place: string;
let root: string;

beforeEach(() => {
  place = mkdtempSync(join(tmpdir(), "ennead-root-"));
  root = join(place, "root");
  mkdirSync(join(root, "inner"), { recursive: true });
  mkdirSync(join(place, "outside"));
  writeFileSync(join(place, "outside", "secret.txt"), "secret");
  writeFileSync(join(place, "root.txt"), "secret beside");
  writeFileSync(join(root, "a.txt"), "alpha\nbeta $1 [x]\n");
  writeFileSync(join(root, "inner", "b.txt"), "gamma BETA");
  writeFileSync(join(root, ".env"), "KEY=secret");
});

afterEach(() => {
  rmSync(place, { recursive: true, force: true });
});

const ways = [
  { way: "by handle", byHandle: true },
  { way: "by path", byHandle: false },
].filter(({ byHandle }) => !byHandle || process.platform === "linux");

describe.each(ways)("RootedFiles, $way", ({ byHandle }) => {
  const files = (): RootedFiles => new RootedFiles(root, { byHandle });

  it("reads and lists what lies below the root", async () => {
    expect(await files().read("a.txt", 100)).toBe("alpha\nbeta $1 [x]\n");
    expect(await files().read("./inner/../inner//b.txt", 100)).toBe("gamma BETA");
    expect(await files().read(join(files().root, "a.txt"), 100)).toBe("alpha\nbeta $1 [x]\n");
    const { entries, more } = await files().list(".", 10);
    expect(entries).toEqual([
      { name: "a.txt", kind: "file" },
      { name: "inner", kind: "folder" },
    ]);
    expect(more).toBe(false);
    expect(await files().isFolder("inner")).toBe(true);
    expect(await files().isFolder("a.txt")).toBe(false);
  });

  it.each([
    "../root.txt",
    "..",
    "inner/../../root.txt",
    "../root/../outside/secret.txt",
    "/etc/passwd",
    "/",
    "../root.txt\0",
    "a.txt\0",
  ])("refuses %j", async (path) => {
    await expect(files().read(path, 100)).rejects.toThrow(/outside the root|NUL/);
    await expect(files().list(path, 10)).rejects.toThrow(/outside the root|NUL/);
  });

  it.each([".env", "inner/.git/config", ".."])("does not show %s", async (path) => {
    await expect(files().read(path, 100)).rejects.toThrow(/hidden|outside/);
  });

  it("follows no link: to a file, to a folder, in the middle, to itself, or back inside", async () => {
    symlinkSync(join(place, "outside", "secret.txt"), join(root, "file-link"));
    symlinkSync(join(place, "outside"), join(root, "folder-link"));
    symlinkSync("../..", join(root, "inner", "up"));
    symlinkSync("loop", join(root, "loop"));
    symlinkSync("a.txt", join(root, "inside-link"));
    for (const path of ["file-link", "folder-link/secret.txt", "inner/up/root.txt", "loop", "inside-link"])
      await expect(files().read(path, 100), path).rejects.toThrow("links are not followed");
    for (const path of ["folder-link", "inner/up", "inner/up/outside"])
      await expect(files().list(path, 10), path).rejects.toThrow("links are not followed");
    const { entries } = await files().list("", 10);
    expect(entries).toContainEqual({ name: "folder-link", kind: "link" });
  });

  it("refuses a file over the limit, a binary one, broken UTF-8 and a folder", async () => {
    writeFileSync(join(root, "zero"), "a\0b");
    writeFileSync(join(root, "latin"), Buffer.from([0xe9, 0x20]));
    await expect(files().read("a.txt", 5)).rejects.toThrow("at most 5");
    await expect(files().read("zero", 100)).rejects.toThrow("binary");
    await expect(files().read("latin", 100)).rejects.toThrow("not UTF-8");
    await expect(files().read("inner", 100)).rejects.toThrow("a folder cannot be read");
    await expect(files().list("a.txt", 10)).rejects.toThrow("not a folder");
    await expect(files().read("a.txt/x", 10)).rejects.toThrow("not a folder");
  });

  it.skipIf(process.platform === "win32")("refuses a named pipe at once instead of waiting for a writer", async () => {
    execFileSync("mkfifo", [join(root, "pipe")]);
    await expect(files().read("pipe", 100)).rejects.toThrow("no regular file");
  });

  it("names no path of this machine when something is missing", async () => {
    const failed: unknown = await files()
      .read("inner/nothing", 100)
      .catch((error: unknown) => error);
    expect(String(failed)).toContain("no such file");
    expect(String(failed)).not.toContain(place);
  });

  it("lists a part of a large folder and says so", async () => {
    for (let i = 0; i < 12; i += 1) writeFileSync(join(root, "inner", `n${i}`), "");
    const { entries, more } = await files().list("inner", 5);
    expect(entries).toHaveLength(5);
    expect(more).toBe(true);
  });

  it("keeps no file open", async () => {
    if (process.platform !== "linux") return;
    const { readdirSync } = await import("node:fs");
    const open = (): number => readdirSync("/proc/self/fd").length;
    await files().read("a.txt", 100);
    const before = open();
    symlinkSync("a.txt", join(root, "link"));
    for (let i = 0; i < 20; i += 1) {
      await files().read("inner/b.txt", 100);
      await files()
        .read("inner/missing/x", 100)
        .catch(() => undefined);
      await files()
        .read("link", 100)
        .catch(() => undefined);
      await files().list("inner", 1);
    }
    expect(open()).toBe(before);
  });
});

describe.runIf(process.platform === "linux")("RootedFiles while the tree is changed", () => {
  it("never reads what a folder swapped for a link leads to", async () => {
    writeFileSync(join(root, "inner", "secret.txt"), "harmless");
    symlinkSync(join(place, "outside"), join(place, "link"));
    const files = new RootedFiles(root);
    let swapping = true;
    const swap = async (): Promise<void> => {
      while (swapping) {
        await rename(join(root, "inner"), join(place, "away"));
        await rename(join(place, "link"), join(root, "inner"));
        await rename(join(root, "inner"), join(place, "link"));
        await rename(join(place, "away"), join(root, "inner"));
      }
    };
    const seen = new Set([await files.read("inner/secret.txt", 100)]);
    const swapped = swap();
    for (let i = 0; i < 400; i += 1)
      seen.add(await files.read("inner/secret.txt", 100).catch((error: unknown) => `refused: ${String(error)}`));
    swapping = false;
    await swapped;
    expect(seen).not.toContain("secret");
    expect(seen).toContain("harmless");
  });
});

describe("a root that is itself a link", () => {
  it("is taken for the folder it leads to", async () => {
    symlinkSync(root, join(place, "root-link"));
    expect(await new RootedFiles(join(place, "root-link")).read("a.txt", 100)).toContain("alpha");
  });

  it("is refused when it is a file", () => {
    expect(() => new RootedFiles(join(root, "a.txt"))).toThrow("not a folder");
  });
});

describe("searchText", () => {
  const search = (
    text: string,
    extra: { path?: string; ignoreCase?: boolean; signal?: AbortSignal } = {},
  ): Promise<string> =>
    searchText(new RootedFiles(root), {
      text,
      path: extra.path ?? "",
      ignoreCase: extra.ignoreCase ?? false,
      signal: extra.signal ?? new AbortController().signal,
      visible: (name) => name,
    });

  it("takes the text literally", async () => {
    expect(await search("$1 [x]")).toBe("a.txt:2: beta $1 [x]");
    expect(await search("b.ta")).toBe("no line in 2 files");
  });

  it("looks into folders, minds the case unless told otherwise, and takes a file as its place", async () => {
    expect(await search("beta", { ignoreCase: true })).toBe("a.txt:2: beta $1 [x]\ninner/b.txt:1: gamma BETA");
    expect(await search("BETA")).toBe("inner/b.txt:1: gamma BETA");
    expect(await search("alpha", { path: "a.txt" })).toBe("a.txt:1: alpha");
  });

  it("finds nothing behind links and in hidden files, and counts what it cannot read", async () => {
    symlinkSync(join(place, "outside"), join(root, "folder-link"));
    writeFileSync(join(root, "zero"), "secret\0");
    expect(await search("secret")).toBe("no line in 2 files\n(1 files are too large or no text)");
  });

  it("stops at its limit and says so", async () => {
    writeFileSync(join(root, "many.txt"), "needle\n".repeat(80));
    const lines = (await search("needle")).split("\n");
    expect(lines).toHaveLength(51);
    expect(lines[50]).toContain("a limit cut the search short");
  });

  it("ends with the signal", async () => {
    await expect(search("x", { signal: AbortSignal.abort(new Error("enough")) })).rejects.toThrow("enough");
  });
});
