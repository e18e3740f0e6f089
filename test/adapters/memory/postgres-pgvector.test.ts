import { afterAll, describe, it } from "vitest";
import { memoryPortClaims, runClaims } from "../../../src/testkit/index.js";
import { PATIENCE_MS } from "../../support/patience.js";
import { stopServers } from "../../support/servers.js";
import { runSql, vectorDatabase } from "../../support/vector-databases.js";
import { letterVector } from "./letter-vectors.js";
import { postgresMemoryFixture } from "./postgres-memory-fixture.js";

const database = await vectorDatabase();
await runSql(database.url, "CREATE EXTENSION vector");
afterAll(async () => {
  await database[Symbol.asyncDispose]();
  await stopServers();
});

describe("PostgresMemory by the extension vector", () => {
  runClaims({
    test: it,
    claims: memoryPortClaims,
    timeoutMs: PATIENCE_MS,
    make: () => ({
      ...postgresMemoryFixture(database.url, { embedding: { embed: letterVector } }),
      scores: [-1, 1] as const,
    }),
    capabilities: { words: { missing: "every entry has a vector, and so is a hit" } },
  });
});
