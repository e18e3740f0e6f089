import { describe, expect, it } from "vitest";
import { OpenAiResponsesModel, type OpenAiResponsesOptions } from "../../src/adapters/models/openai-responses.js";
import { fetchOf, streamedBy, wholeBy } from "../adapters/models/chat-outcome.js";
import { JSON_TYPE, loopback, pieces } from "../adapters/models/loopback.js";
import { bodies } from "./responses-bodies.js";

const model = (options: Partial<OpenAiResponsesOptions>) =>
  new OpenAiResponsesModel({ model: "m", baseUrl: "http://unused.test", ...options });

describe("a field case on the responses wire", () => {
  it.each(bodies)("comes out right over HTTP, whole and one byte at a time: $name", async ({ raw, wanted }) => {
    const bytes = Array.from(Buffer.from(raw), (byte) => Uint8Array.of(byte));
    for (const list of [[raw], bytes]) {
      await using server = await loopback(pieces(list));
      expect(await streamedBy(model({ baseUrl: server.baseUrl }))).toEqual(wanted);
      expect(server.requests).toHaveLength(1);
    }
  });

  it.each(bodies)("comes out the same cut in two at every place: $name", async ({ raw, wanted }) => {
    const bytes = Buffer.from(raw);
    for (let cut = 0; cut <= bytes.length; cut++) {
      const fetch = fetchOf([bytes.subarray(0, cut), bytes.subarray(cut)]);
      expect(await streamedBy(model({ fetch })), `cut at ${cut}`).toEqual(wanted);
    }
  });

  it.each(bodies)("comes out the same with CRLF or CR line ends: $name", async ({ raw, wanted }) => {
    for (const lineEnd of ["\r\n", "\r"]) {
      const bytes = Buffer.from(raw.replaceAll("\n", lineEnd));
      const fetch = fetchOf(Array.from(bytes, (byte) => Uint8Array.of(byte)));
      expect(await streamedBy(model({ fetch }))).toEqual(wanted);
    }
  });

  it.each(bodies)("comes out the same as the answer to a request without streaming: $name", async ({ raw, wanted }) => {
    await using server = await loopback(pieces([raw], JSON_TYPE));
    expect(await wholeBy(model({ baseUrl: server.baseUrl }))).toEqual(wanted);
  });

  const whole = bodies.filter(({ wanted }) => wanted.error === undefined);

  it.each(whole)("is a failure where it ends before its last event: $name", async ({ raw, wanted }) => {
    const bytes = Buffer.from(raw);
    const last = bytes.lastIndexOf("event: response.");
    for (let length = 0; length <= last; length++) {
      // A body may go on behind its last event.
      if (bytes.subarray(0, length).includes('"response":')) break;
      const outcome = await streamedBy(model({ fetch: fetchOf([bytes.subarray(0, length)]) }));
      expect(outcome.error, `ended at ${length}`).toBe("response-parse");
      expect(wanted.text?.startsWith(outcome.partialText ?? "")).toBe(true);
    }
  });

  it.each(whole)("is a failure of transport where the connection is reset before: $name", async ({ raw, wanted }) => {
    // Only the event that ends a reply holds a response.
    const body = raw.slice(0, raw.lastIndexOf("event: response.", raw.indexOf('"response":')));
    await using server = await loopback((answer) => {
      answer.writeHead(200, { "content-type": "text/event-stream" });
      answer.write(`: begun\n\n${body}`, () => answer.destroy());
    });
    const outcome = await streamedBy(model({ baseUrl: server.baseUrl }));
    expect(outcome.error).toBe("transport");
    expect(outcome.partialText ?? "").toBe(/"response\.(?:output_text|refusal)\./.test(body) ? wanted.text : "");
  });
});
