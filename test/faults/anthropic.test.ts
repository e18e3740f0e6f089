import { describe, expect, it } from "vitest";
import { fetchOf } from "../adapters/models/chat-outcome.js";
import { answered, start, streamed } from "../adapters/models/anthropic-wire.js";
import { loopback, pieces, SSE } from "../adapters/models/loopback.js";
import { bodies, type Body } from "./anthropic-bodies.js";

const bytesOf = (raw: string): Uint8Array => new TextEncoder().encode(raw);
/** Where a reply says that it is over. */
const ENDS = /"stop_reason":"|"type":"message_stop"/;
/** Most bodies begin alike: that beginning is cut everywhere in the field's own bodies, and once here. */
const firstCut = ({ name, raw }: Body): number =>
  raw.startsWith(start()) && name !== "text of several bytes a character" ? start().length - 1 : 0;
const unused = "http://unused.test";

describe("a body of the messages wire", () => {
  it.each(bodies)("comes out right over HTTP: $name", async ({ raw, wanted }) => {
    await using server = await loopback(pieces([raw]));
    expect(await streamed({ baseUrl: server.baseUrl })).toEqual(wanted);
    expect(server.requests).toHaveLength(1);
  });

  it.each(bodies)("comes out the same over HTTP one byte at a time: $name", async ({ raw, wanted }) => {
    await using server = await loopback(pieces(Array.from(bytesOf(raw), (byte) => Uint8Array.of(byte))));
    expect(await streamed({ baseUrl: server.baseUrl })).toEqual(wanted);
  });

  it.each(bodies)("comes out the same in two pieces, wherever it is cut: $name", async (body) => {
    const { raw, wanted } = body;
    const bytes = bytesOf(raw);
    for (let cut = firstCut(body); cut <= bytes.length; cut++) {
      const fetch = fetchOf([bytes.subarray(0, cut), bytes.subarray(cut)]);
      expect(await streamed({ baseUrl: unused, fetch }), `cut at ${cut}`).toEqual(wanted);
    }
  });

  it.each(bodies)("comes out the same with CRLF or CR line ends: $name", async ({ raw, wanted }) => {
    for (const lineEnd of ["\r\n", "\r"]) {
      const bytes = bytesOf(raw.replaceAll("\n", lineEnd));
      const fetch = fetchOf(Array.from(bytes, (byte) => Uint8Array.of(byte)));
      expect(await streamed({ baseUrl: unused, fetch })).toEqual(wanted);
    }
  });

  it.each(bodies)("comes out the same as the answer to a request without streaming: $name", async ({ raw, wanted }) => {
    await using server = await loopback(pieces([raw], { "content-type": "application/json" }));
    expect(await answered({ baseUrl: server.baseUrl })).toEqual(wanted);
  });

  it.each(bodies)("that ends too early is never a success before its stop reason: $name", async (body) => {
    const { raw, wanted } = body;
    const bytes = bytesOf(raw);
    const stopAt = raw.search(ENDS);
    const safe = stopAt === -1 ? bytes.length : bytesOf(raw.slice(0, stopAt)).length;
    for (let length = firstCut(body); length < safe; length++) {
      const outcome = await streamed({ baseUrl: unused, fetch: fetchOf([bytes.subarray(0, length)]) });
      expect(outcome.error, `ended at ${length}`).toBeDefined();
      const partial = outcome.partialText ?? "";
      expect((wanted.text ?? wanted.partialText ?? "").startsWith(partial), partial).toBe(true);
    }
  });
});

describe("a connection that breaks", () => {
  it.each(bodies.filter(({ wanted }) => wanted.error === undefined))(
    "fails as transport before the reply is whole: $name",
    async ({ raw }) => {
      const bytes = bytesOf(raw);
      const stopAt = raw.search(ENDS);
      const length = stopAt === -1 ? Math.floor(bytes.length / 2) : bytesOf(raw.slice(0, stopAt)).length;
      await using server = await loopback((response) => {
        response.writeHead(200, SSE);
        response.write(bytes.subarray(0, length), () => response.destroy());
      });
      expect(await streamed({ baseUrl: server.baseUrl })).toMatchObject({ error: "transport" });
    },
  );

  it.each(bodies.filter(({ raw, wanted }) => wanted.error === undefined && !raw.startsWith("{")))(
    "is no failure behind the end of the reply: $name",
    async ({ raw, wanted }) => {
      await using server = await loopback((response) => {
        response.writeHead(200, SSE);
        response.write(raw, () => response.destroy());
      });
      expect(await streamed({ baseUrl: server.baseUrl })).toEqual(wanted);
    },
  );
});
