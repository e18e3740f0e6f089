import fc from "fast-check";
import { afterAll, describe, test } from "vitest";
import { runClaims, sessionStoreClaims } from "../../../src/testkit/claims/index.js";
import { describeWith, redisUrl, stopServers } from "../../support/servers.js";
import { expectLikeReference, sessionCommands } from "../../support/session-model.js";
import { redisFixture } from "./redis-fixture.js";

const server = await redisUrl();
afterAll(stopServers);

describeWith("RedisSessionStore", server, (url) => {
  describe("keeps the claims of its port", () => {
    runClaims({ test, claims: sessionStoreClaims, make: () => redisFixture(url) });
  });

  test("answers any history of writes as the reference does", { timeout: 60_000 }, async () => {
    await using fixture = redisFixture(url);
    const { store } = fixture;
    let histories = 0;
    await fc.assert(
      fc.asyncProperty(sessionCommands, async (commands) => {
        const id = `s${histories++}`;
        await expectLikeReference(
          {
            load: (_id, known) => store.load(id, known),
            save: (_id, session, options) => store.save(id, session, options),
            append: (_id, delta) => store.append(id, delta),
            delete: () => store.delete(id),
          },
          commands,
        );
      }),
      { numRuns: 100 },
    );
  });
});
