import { memoryPortClaims, runClaims } from "ennead/testkit";
import { describe, test } from "vitest";
import { WordMemory } from "../parts/word-memory.js";

// #region claims
describe("WordMemory", () => {
  const missing = { missing: "nothing is kept outside this process" };
  runClaims({
    test,
    claims: memoryPortClaims,
    make: () => ({ memory: new WordMemory() }),
    capabilities: { damage: missing, reopen: missing },
  });
});
// #endregion claims
