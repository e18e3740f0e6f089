import { describe, expect, it } from "vitest";
import { httpFailure } from "../../../src/adapters/models/wire/http-errors.js";
import { OpenAiChatModel } from "../../../src/adapters/models/openai-chat.js";
import { plainText } from "../../../src/adapters/models/wire/provider-complaint.js";
import { decodeJson } from "../../../src/adapters/models/wire/wire-json.js";
import { fetchOf, type Outcome, request, streamed, whole } from "./chat-outcome.js";
import { delta, DONE, STOP } from "./loopback.js";

const encoder = new TextEncoder();
const outcomeOf = (body: string, ask = streamed): Promise<Outcome> =>
  ask({ baseUrl: "http://unused.test", fetch: fetchOf([encoder.encode(body)]) });

/** How often JSON.parse failed while `run` ran. */
async function failedParses(run: () => unknown): Promise<number> {
  const { parse } = JSON;
  let count = 0;
  JSON.parse = (source: string): unknown => {
    count += 1;
    const value: unknown = parse(source);
    count -= 1;
    return value;
  };
  try {
    await run();
  } finally {
    JSON.parse = parse;
  }
  return count;
}

/** Takes seconds to days where its cost is not about linear. */
const LONG = 60_000;

describe("the text of an error page", () => {
  it.each<[string, string]>([
    ["titles that never end", "<title".repeat(LONG)],
    ["titles without text", "<title>".repeat(LONG)],
    ["tags that never end", "<".repeat(LONG)],
    ["blanks", `x${" ".repeat(LONG)}x`],
  ])("comes from its beginning only, so that %s cost little", (_, body) => {
    expect(plainText(body)).toBe(plainText(body.slice(0, 4096)));
  });

  it("is its title, else its first words", () => {
    expect(plainText("<html><TITLE lang='en'>502\n Bad <b>Gateway</b></TITLE>")).toBe("502 Bad");
    expect(plainText("<p>not <b>here</b></p>")).toBe("not here");
  });
});

describe("words that tell the kind of a failure", () => {
  it("are looked for in the beginning of a code only", () => {
    const body = JSON.stringify({ error: { code: `${"prompt input ".repeat(LONG)}context_length`, message: "no" } });
    expect(httpFailure(400, new Headers(), body, 0).kind).toBe("invalid-request");
  });
});

describe("JSON", () => {
  it("is tried only on text that begins and ends like it", async () => {
    const texts = ["", "zzz", "x{}", "[info] starting", '{"cut": ', "nul", "-", "<p>", '"'];
    expect(await failedParses(() => texts.map(decodeJson))).toBeLessThanOrEqual(1);
    const good = [" {}\n", "[1]", '"a"', "-1.5e3", "0", "true", "false", " null "];
    expect(good.map(decodeJson)).toEqual([{}, [1], "a", -1500, 0, true, false, null]);
  });
});

describe("a stream full of what is no reply", () => {
  it.each<[string, string]>([
    ["lines of one event", `${"data: [x]\n".repeat(LONG)}\n`],
    ["stray lines", `[x]\n${"[x]\n".repeat(LONG)}`],
    ["stray words", "zzz\n".repeat(LONG)],
    ["events", "data: {x}\n\ndata: [x]\n\n".repeat(LONG)],
  ])("is given up early: %s", async (_, noise) => {
    let outcome: Outcome | undefined;
    const failed = await failedParses(async () => {
      outcome = await outcomeOf(`${delta({ content: "hi" })}${noise}`);
    });
    expect(outcome).toMatchObject({ error: "response-parse", partialText: "hi" });
    expect(failed).toBeLessThan(11_000);
  });

  it("still holds a reply of many lines that lost their blank lines, and a log in front", async () => {
    const lines = delta({ content: "a" }).repeat(15_000) + STOP;
    expect(await outcomeOf(`${lines}${DONE}`.replaceAll("\n\n", "\n"))).toMatchObject({ finish: "stop" });
    expect(await outcomeOf(`${"log\n".repeat(500)}${STOP}`)).toEqual({ text: "", finish: "stop" });
  });

  it("is not read on after the end of the reply", async () => {
    const seen = await failedParses(() => outcomeOf(`${STOP}${DONE}${"[x]\n".repeat(LONG)}`));
    expect(seen).toBe(0);
  });
});

describe("a request that cannot be prepared", () => {
  it("is told as request-build", async () => {
    const tools = [null] as unknown as [];
    await expect(new OpenAiChatModel({ model: "m" }).chat(request({ tools }))).rejects.toMatchObject({
      name: "ModelError",
      kind: "request-build",
    });
  });
});

describe("counts of tokens", () => {
  it.each<[string, object, object | undefined]>([
    ["beyond what a number holds exactly", { prompt_tokens: 1e308, completion_tokens: 2 ** 53 }, undefined],
    [
      "whose sum is",
      { prompt_tokens: 2 ** 53 - 1, completion_tokens: 1 },
      { inputTokens: 2 ** 53 - 1, outputTokens: 1 },
    ],
    ["that are no integers", { prompt_tokens: 1.5, completion_tokens: 3 }, { outputTokens: 3 }],
  ])("%s are unknown, and the reply is good", async (_, usage, known) => {
    const body = JSON.stringify({ choices: [{ message: { content: "hi" }, finish_reason: "stop" }], usage });
    expect(await outcomeOf(body, whole)).toEqual({ text: "hi", finish: "stop", ...(known && { usage: known }) });
  });
});
