#!/usr/bin/env node
import { nodeComplaint } from "./node-version.js";

const complaint = nodeComplaint(process.versions.node);
if (complaint === undefined) {
  // Only now: everything else may use what an older Node does not have.
  const { runProcess } = await import("./cli-process.js");
  await runProcess();
} else {
  console.error(complaint);
  process.exitCode = 1;
}
