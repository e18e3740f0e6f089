import { describe, expect, test } from "vitest";
import { AgentError, EnneadError, errorCategory, ModelError, ToolError } from "../../src/domain/errors.js";

class QuotaError extends ModelError {}
class OwnError extends EnneadError {
  constructor() {
    super("OwnError", "own", "own");
  }
}

function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

describe("instanceof", () => {
  test("a subclass without a brand of its own recognises its own instances only", () => {
    const quota = new QuotaError("rate-limit", "no quota");
    expect(quota instanceof QuotaError).toBe(true);
    expect(quota instanceof ModelError).toBe(true);
    for (const other of [new ToolError("timeout", "x"), new ModelError("server", "x"), new OwnError()]) {
      expect(other instanceof QuotaError).toBe(false);
      expect(other instanceof EnneadError).toBe(true);
    }
    expect(new ToolError("timeout", "x") instanceof OwnError).toBe(false);
    expect(new OwnError() instanceof OwnError).toBe(true);
  });

  test("an error of another copy of the package is recognised by its brand", () => {
    const foreign = Object.assign(new Error("x"), { [Symbol.for("ennead.error")]: "AgentError" });
    expect(foreign instanceof AgentError).toBe(true);
    expect(foreign instanceof EnneadError).toBe(true);
    expect(foreign instanceof ToolError).toBe(false);
    expect(foreign instanceof QuotaError).toBe(false);
  });
});

test.each([
  [-5, undefined],
  [Number.NaN, undefined],
  [Number.POSITIVE_INFINITY, undefined],
  [0, 0],
  [250, 250],
])("retryAfterMs %s of a ModelError is kept as %s: never negative, always a time", (given, kept) => {
  expect(new ModelError("rate-limit", "x", { retryAfterMs: given }).retryAfterMs).toBe(kept);
});

test.each([
  ["a revoked proxy", revoked(), "object"],
  ["an error whose constructor is gone", Object.assign(new Error("x"), { constructor: undefined }), "Error"],
  ["an error whose class name is no text", Object.assign(new Error("x"), { constructor: { name: 7 } }), "Error"],
  ["a text", "secret", "string"],
])("errorCategory never throws: %s", (_, thrown, category) => {
  expect(errorCategory(thrown)).toBe(category);
});
