import { compressorClaims, runClaims } from "ennead/testkit";
import { test } from "vitest";
import { LastTurnsCompressor } from "../parts/last-turns.js";

// #region claims
runClaims({
  test,
  claims: compressorClaims,
  make: () => ({ compressor: new LastTurnsCompressor(2) }),
  capabilities: { waits: { missing: "it asks nobody" }, fails: { missing: "it asks nobody" } },
});
// #endregion claims
