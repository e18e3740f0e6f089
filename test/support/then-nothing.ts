import type { CompressStep } from "../../src/testkit/index.js";

/** A script for a `RecordingCompressor` that plays these steps and then goes on without end, proposing nothing. */
export function thenNothing(steps: readonly CompressStep[]): CompressStep {
  const left = [...steps];
  return (messages, context) => {
    const step = left.shift() ?? { type: "none" };
    return typeof step === "function" ? step(messages, context) : step;
  };
}
