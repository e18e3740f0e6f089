import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runClaims, toolProviderClaims } from "ennead/testkit";
import { afterAll, describe, expect, test } from "vitest";
import type { Json } from "../../../../src/domain/json.js";
import { started, textOf } from "../../../support/hostile-mcp.js";
import { everything, type EverythingOverHttp, everythingOverHttp, filesystem } from "../../../support/mcp-packages.js";
import { CLAIM_DEADLINE_MS, PATIENCE_MS } from "../../../support/patience.js";

let web: Promise<EverythingOverHttp> | undefined;
const overHttp = async (): Promise<string> => (await (web ??= everythingOverHttp())).url;
afterAll(async () => {
  await (await web)?.[Symbol.asyncDispose]();
});

describe("the real filesystem server", () => {
  test("reads a file, and tells of one outside as an error result", async () => {
    const folder = mkdtempSync(join(tmpdir(), "ennead-mcp-"));
    try {
      writeFileSync(join(folder, "a.txt"), "hello");
      await using files = await started({ servers: { files: filesystem(folder) } });
      expect(textOf(await files.call("files__read_text_file", { path: join(folder, "a.txt") }))).toBe("hello");
      const outside = await files.call("files__read_text_file", { path: "/etc/passwd" });
      expect(outside.isError).toBe(true);
      expect(textOf(outside)).toContain("Access denied");
      expect(files.mcp.validate("files__read_text_file", { path: 1 })).toEqual({
        ok: false,
        issues: [{ path: "/path", expected: "string" }],
      });
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

describe.each(["stdio", "streamable HTTP"] as const)("the real everything server over %s", (transport) => {
  const open = async () =>
    started({ servers: { all: transport === "stdio" ? everything : { url: await overHttp() } } });

  test("lists its tools and runs them", async () => {
    await using all = await open();
    expect(await all.names()).toEqual(expect.arrayContaining(["all__echo", "all__get-sum", "all__get-tiny-image"]));
    expect(await all.text("all__echo", { message: "hi" })).toBe("Echo: hi");
    expect(all.events).toEqual([{ type: "connected", server: "all", tools: expect.any(Number) as number }]);
  });

  test("gives structured content beside its text, pictures and resources as parts", async () => {
    await using all = await open();
    const weather = await all.call("all__get-structured-content", { location: "New York" });
    expect(weather.structured).toEqual({ temperature: 33, conditions: "Cloudy", humidity: 82 });
    const picture = await all.call("all__get-tiny-image");
    expect(picture.content[1]).toMatchObject({ type: "image", mimeType: "image/png" });
    const resource = await all.call("all__get-resource-reference", { resourceType: "Text", resourceId: 1 });
    expect(textOf(resource)).toContain("demo://resource/dynamic/text/1");
    const links = await all.call("all__get-resource-links", { count: 2 });
    expect(textOf(links)).toContain("[resource link]");
  });

  test("tells of progress, and is cancelled without harm to later calls", async () => {
    await using all = await open();
    const seen: Json[] = [];
    const operation = { duration: 0.3, steps: 3 };
    const progress = (partial: Json): void => void seen.push(partial);
    await all.call("all__trigger-long-running-operation", operation, { progress });
    expect(seen.slice(0, 2)).toEqual([
      { progress: 1, total: 3 },
      { progress: 2, total: 3 },
    ]);
    const controller = new AbortController();
    const long = all.call(
      "all__trigger-long-running-operation",
      { duration: 60, steps: 600 },
      {
        signal: controller.signal,
        progress: () => controller.abort(),
      },
    );
    await expect(long).rejects.toMatchObject({ name: "ToolError", kind: "aborted" });
    expect(await all.text("all__echo", { message: "still here" })).toBe("Echo: still here");
  });
});

test("a real server that does not know the protocol of 2026 is spoken to in that of 2025", async () => {
  const servers = {
    pipe: { ...everything, protocol: "auto" as const },
    web: { url: await overHttp(), protocol: "auto" as const },
  };
  await using s = await started({ servers });
  expect(await s.text("pipe__echo", { message: "1" })).toBe("Echo: 1");
  expect(await s.text("web__echo", { message: "2" })).toBe("Echo: 2");
});

test("a real server that was started anew serves the next call", async () => {
  const first = await everythingOverHttp();
  await using s = await started({ servers: { all: { url: first.url } } });
  expect(await s.text("all__echo", { message: "1" })).toBe("Echo: 1");
  await first[Symbol.asyncDispose]();
  expect(await s.text("all__echo", { message: "2" })).toMatch(/could not be asked/);
  await using _ = await everythingOverHttp(first.port);
  expect(await s.text("all__echo", { message: "3" })).toBe("Echo: 3");
});

describe("keeps the claims of tool providers, over streamable HTTP", () => {
  runClaims({
    test,
    claims: toolProviderClaims,
    timeoutMs: PATIENCE_MS,
    make: async () => {
      const running = await started({ servers: { all: { url: await overHttp() } } });
      return {
        provider: running.mcp,
        deadlineMs: CLAIM_DEADLINE_MS,
        call: { name: "all__get-sum", arguments: { a: 1, b: 2 } },
        slowCall: { name: "all__trigger-long-running-operation", arguments: { duration: 60, steps: 2 } },
        invalid: { arguments: { a: { secret: "hunter-2222" }, b: 1 }, path: "/a" },
        [Symbol.asyncDispose]: running[Symbol.asyncDispose],
      };
    },
    capabilities: { changes: { missing: "the list of this server does not change" } },
  });
});
