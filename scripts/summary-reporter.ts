import type { Reporter, SerializedError, TestModule } from "vitest/node";

/** Prints one plain closing line with the counts of the run, readable by any CI. */
export default class SummaryReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly SerializedError[]): void {
    let passed = 0;
    let failed = unhandled.length;
    let skipped = 0;
    for (const module of modules) {
      if (module.errors().length > 0) failed += 1;
      for (const test of module.children.allTests()) {
        const { state } = test.result();
        if (state === "passed") passed += 1;
        else if (state === "failed") failed += 1;
        else skipped += 1;
      }
    }
    // At exit, because the default reporter prints its own summary after this call.
    process.once("exit", () => {
      console.log(`tests: ${passed} passed, ${failed} failed, ${skipped} skipped`);
    });
  }
}
