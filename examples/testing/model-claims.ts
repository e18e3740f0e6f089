import { ModelError, type ModelPort, textOf } from "ennead";
import { modelPortClaims, runClaims } from "ennead/testkit";
import { test } from "vitest";

/** Says what it was told last. */
const echo: ModelPort = {
  chat({ messages, signal }) {
    if (signal.aborted) return Promise.reject(new ModelError("aborted", "the turn was aborted"));
    const text = messages.map(textOf).at(-1) ?? "";
    return Promise.resolve({ parts: [{ type: "text", text }], finishReason: "stop" });
  },
};

// #region claims
// A sample says what to ask (by default the user says "hello") and what must come of it.
const missing = { missing: "it only says what it was told" };
runClaims({
  test,
  claims: modelPortClaims,
  make: () => ({ model: echo, samples: { text: { text: "hello" }, uncounted: {} } }),
  capabilities: {
    streaming: missing,
    describe: missing,
    calls: missing,
    names: missing,
    sent: missing,
    reasoning: missing,
    cut: missing,
    abort: missing,
    failure: missing,
    key: missing,
    broken: missing,
    partial: missing,
  },
});
// #endregion claims
