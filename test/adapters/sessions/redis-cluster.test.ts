import { setImmediate } from "node:timers/promises";
import { Cluster, Redis } from "ioredis";
import { expect, test } from "vitest";
import { RedisSessionStore } from "../../../src/adapters/sessions/redis.js";
import { deltaOf, note } from "../../../src/testkit/claims/session-samples.js";
import { describeWith, privateRedis } from "../../support/servers.js";

describeWith("RedisSessionStore on a cluster", privateRedis(), (start) => {
  test("keeps every session where its scripts can use it, by the default prefix", async () => {
    await using server = await start(["--cluster-enabled", "yes", "--cluster-announce-ip", "127.0.0.1"]);
    const node = new Redis(server.url);
    await node.cluster("ADDSLOTSRANGE", 0, 16_383);
    while (!(await node.cluster("INFO")).includes("cluster_state:ok")) await setImmediate();
    node.disconnect();
    const cluster = new Cluster([{ host: "127.0.0.1", port: server.port }]);
    cluster.on("error", () => {});
    await using store = new RedisSessionStore({ client: cluster });
    for (const id of ["a", "b", "{c}"]) {
      expect(await store.append(id, deltaOf("o", 0, [note("m")], { metadata: { id } }))).toBe(1);
      expect(await store.save(id, { messages: [note("n")], metadata: { id }, revision: 1 })).toBe(2);
    }
    expect((await store.list()).items.map(({ id }) => id)).toEqual(["{c}", "b", "a"]);
    await store.delete("b");
    expect(await store.load("{c}")).toEqual({ messages: [note("n")], metadata: { id: "{c}" }, revision: 2 });
    cluster.disconnect();
  });
});
