import { describe, test } from "vitest";
import { SlidingWindowCompressor } from "../../../src/adapters/compressors/sliding-window.js";
import { compressorClaims, runClaims } from "../../../src/testkit/index.js";

const asksNobody = { waits: { missing: "it asks nobody" }, fails: { missing: "it asks nobody" } } as const;

describe.each([3, 12])("a sliding window of %d messages", (maxMessages) => {
  const make = () => ({ compressor: new SlidingWindowCompressor({ maxMessages }) });
  runClaims({ test, claims: compressorClaims, make, capabilities: asksNobody });
});
