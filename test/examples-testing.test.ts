import { describe } from "vitest";

/** The example of a test file is itself run as one. */
describe("examples/testing/compressor-claims.ts", async () => {
  await import("../examples/testing/compressor-claims.js");
});

describe("examples/testing/conformance.ts", async () => {
  await import("../examples/testing/conformance.js");
});

describe("examples/testing/model-claims.ts", async () => {
  await import("../examples/testing/model-claims.js");
});

describe("examples/testing/custom-session-store.ts", async () => {
  await import("../examples/testing/custom-session-store.js");
});

describe("examples/testing/test-an-agent.ts", async () => {
  await import("../examples/testing/test-an-agent.js");
});

describe("examples/testing/prove-a-memory-store.ts", async () => {
  await import("../examples/testing/prove-a-memory-store.js");
});

describe("examples/testing/prove-a-model-adapter.ts", async () => {
  await import("../examples/testing/prove-a-model-adapter.js");
});

describe("examples/testing/custom-memory-store.ts", async () => {
  await import("../examples/testing/custom-memory-store.js");
});
