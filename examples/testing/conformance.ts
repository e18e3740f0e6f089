import { runClaims, sessionStoreClaims, stopResponse, testAgent, toolCallResponse, toolOutcome } from "ennead/testkit";
import { expect, test } from "vitest";
import { MapSessionStore } from "../parts/map-session-store.js";

// #region claims
// Every claim of the port becomes a test of your adapter; what it cannot do is declared, and said aloud.
runClaims({
  test,
  claims: sessionStoreClaims,
  make: () => ({ store: new MapSessionStore() }),
  capabilities: {
    append: { missing: "the agent uses load and save instead" },
    list: { missing: "a map for one process" },
    delete: { missing: "a map for one process" },
    damage: { missing: "nothing is kept outside this process" },
    reopen: { missing: "nothing is kept outside this process" },
  },
});
// #endregion claims

// #region agent
test("the agent looks before it answers", async () => {
  await using fake = await testAgent({
    script: [toolCallResponse("look", "call-1", { at: "sky" }), stopResponse("It is blue.")],
    tools: { look: toolOutcome.ok("blue") },
  });
  const { text } = await fake.agent.runTurn("What colour is the sky?");
  expect(text).toBe("It is blue.");
  expect(fake.tools.execRecords).toMatchObject([{ toolName: "look", arguments: { at: "sky" }, outcome: "ok" }]);
  fake.assertDone();
});
// #endregion agent
