import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { type ModelPortFixture, type ModelSamples, modelPortClaims, runClaims } from "ennead/testkit";
import { describe, test } from "vitest";
import { PlainTextModel } from "../parts/plain-text-model.js";

// #region samples
/** What is asked does not matter here, since the server plays what the next sample is about. */
const samples: ModelSamples = { text: { text: "Hello there." }, uncounted: {}, slow: {}, failure: {}, broken: {} };
const key = "key-0123456789abcdef";

const answers: Readonly<Record<string, (response: ServerResponse) => void>> = {
  text: (response) => void response.write("Hello ", () => response.end("there.")),
  uncounted: (response) => void response.end("Hello."),
  slow: (response) => void response.write("It was a dark "),
  failure: (response) => void response.writeHead(401).end(`wrong key ${key}`),
  broken: (response) => void response.write("It was a ", () => response.destroy()),
};
// #endregion samples

// #region server
/** A server of its own for each claim, and the model that asks it. */
async function make(): Promise<ModelPortFixture> {
  let next = "text";
  const server = createServer((request, response) => {
    const sample = next;
    request.resume().on("end", () => answers[sample]?.(response));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    model: new PlainTextModel({ url: `http://127.0.0.1:${port}`, key }),
    samples,
    key,
    prepare: (sample) => void (next = sample),
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
// #endregion server

// #region claims
describe("PlainTextModel", () => {
  const missing = { missing: "the server speaks plain text only" };
  runClaims({
    test,
    claims: modelPortClaims,
    make,
    capabilities: {
      describe: missing,
      calls: missing,
      names: missing,
      sent: missing,
      reasoning: missing,
      cut: missing,
    },
  });
});
// #endregion claims
