import { afterAll, describe, expect, test } from "vitest";
import { describeWith, postgresUrl, stopServers } from "../support/servers.js";
import { postgresMemoryFixture } from "../adapters/memory/postgres-memory-fixture.js";

const server = await postgresUrl();
afterAll(stopServers);

describeWith("PostgreSQL memory", server, (url) => {
  test("F204: a query without a word finds nothing and throws nothing", async () => {
    await using fixture = postgresMemoryFixture(url);
    for (const content of ["a", "b"]) await fixture.memory.store({ content });
    for (const query of ["", " ", "\n", "!!!", '"', "*", "& |"]) {
      expect(await fixture.memory.search({ query, threshold: -1 }), query).toEqual([]);
    }
  });

  describe("with vectors", () => {
    const cosines: Record<string, number> = { far: 0.1, same: 1, opposite: -0.4, near: 0.6 };
    const embed = (text: string): number[] => [cosines[text] ?? 1, Math.sqrt(1 - (cosines[text] ?? 1) ** 2)];

    test("F206: a threshold keeps what is at least that near, best first", async () => {
      await using fixture = postgresMemoryFixture(url, { embedding: { embed } });
      for (const id of Object.keys(cosines)) await fixture.memory.store({ id, content: id });
      for (const [threshold, expected] of [
        [0.5, ["same", "near"]],
        [0.6, ["same", "near"]],
        [0, ["same", "near", "far"]],
        [-1, ["same", "near", "far", "opposite"]],
        [undefined, ["same", "near", "far", "opposite"]],
      ] as const) {
        const hits = await fixture.memory.search({ query: "x", threshold });
        expect(hits.map(({ id, score }) => [id, score])).toEqual(expected.map((id) => [id, cosines[id]]));
      }
    });
  });
});
