import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SqliteSessionStore } from "ennead/sessions/sqlite";
import { ConversingModel, crashPoints, type CrashScenario, stopResponse, toolCallResponse } from "ennead/testkit";
import { defineTool, Type } from "ennead/tools";

// #region scenario
const pay = () =>
  defineTool({
    name: "pay",
    description: "Pays a bill.",
    parameters: Type.Object({ bill: Type.String() }),
    execute: ({ bill }) => `${bill} is paid`,
  });

const scenario: CrashScenario = {
  // Called for each life of the agent: what a process would lose is made anew, and sessions outlive it.
  ports: () => ({
    // Answers by what the conversation holds, so that another life may ask again.
    model: new ConversingModel([toolCallResponse("pay", "call-1", { bill: "tea" }), stopResponse("All paid.")]),
    tools: [pay()],
  }),
  input: "Pay the tea.",
};

const report = await crashPoints(scenario);
console.log(report.text);
//> crash points: 20 over 10 steps, all is well
console.log(report.steps.join(" "));
//> load append#0 tools#0 model#1 append#1 tool#1.0 append#2 model#2 append#3 append#4
// #endregion scenario

// #region unsafe
// Stored only at its end, a turn that crashed is run again from its beginning: the bill is paid twice.
const unsafe = await crashPoints({
  ...scenario,
  ports: async (life) => ({ ...(await scenario.ports(life)), config: { persistence: "turn" } }),
});
console.log(unsafe.text.split("\n").slice(0, 3).join("\n"));
//> crash points: 12 over 6 steps, 4 faults
//>   crash after step tool#1.0, before anybody knew its outcome, then run again:
//>     repeated: tool pay (call call-1) ran 2 times with the same arguments, 1 without a crash; it is not declared idempotent
// #endregion unsafe

// #region place
const inFile = await crashPoints({
  ...scenario,
  place: () => {
    const directory = mkdtempSync(join(tmpdir(), "crash-test-"));
    return {
      open: () => new SqliteSessionStore({ path: join(directory, "sessions.db") }),
      [Symbol.asyncDispose]: async () => rmSync(directory, { recursive: true }),
    };
  },
});
console.log(inFile.text);
//> crash points: 20 over 10 steps, all is well
// #endregion place

// #region journal
// On an engine that records every step: the replay ends in the same conversation, whatever the crash point.
const replayed = await crashPoints({ ...scenario, recovery: "journal" });
console.log(replayed.text);
//> crash points: 20 over 10 steps, all is well
// #endregion journal
