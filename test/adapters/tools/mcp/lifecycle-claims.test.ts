import { mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { lifecycleClaims, runClaims } from "ennead/testkit";
import { McpToolProvider } from "ennead/tools/mcp";
import { test } from "vitest";
import { hostile, named } from "../../../support/hostile-mcp.js";
import { CLAIM_DEADLINE_MS, PATIENCE_MS } from "../../../support/patience.js";

runClaims({
  test,
  claims: lifecycleClaims,
  timeoutMs: PATIENCE_MS,
  make: () => {
    const folder = mkdtempSync(join(tmpdir(), "ennead-mcp-"));
    const command = join(folder, "node");
    symlinkSync(process.execPath, command);
    const lifecycle = new McpToolProvider({
      servers: { one: { ...hostile({ tools: named("f") }), command, required: true } },
    });
    return {
      lifecycle,
      deadlineMs: CLAIM_DEADLINE_MS,
      breakStart: () => rmSync(command),
      [Symbol.asyncDispose]: async () => {
        await lifecycle.onShutdown();
        rmSync(folder, { recursive: true, force: true });
      },
    };
  },
  capabilities: {
    resources: { missing: "its processes are watched in tests of their own" },
    "shutdown-failure": { missing: "it kills what does not end" },
  },
});
