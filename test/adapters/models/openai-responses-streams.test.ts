import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { OpenAiResponsesModel } from "../../../src/adapters/models/openai-responses.js";
import { fetchOf, type Outcome, streamedBy, wholeBy } from "./chat-outcome.js";
import { type Fields, frame, item, response } from "./responses-wire.js";

const encoder = new TextEncoder();
const model = (body: string) =>
  new OpenAiResponsesModel({
    model: "m",
    baseUrl: "http://unused.test",
    fetch: fetchOf([encoder.encode(body)]),
    replayReasoning: false,
  });

const texts = fc.string({ maxLength: 6, unit: "grapheme" });
const args = fc.dictionary(fc.constantFrom("a", "b"), fc.nat(9), { maxKeys: 2 }).map((value) => JSON.stringify(value));
const outputItem = (n: number): fc.Arbitrary<Fields> =>
  fc.oneof(
    texts.map((text) => item.message(text, { id: `msg_${n}` })),
    texts.map((text) => item.refusal(text, `msg_${n}`)),
    args.map((text) => item.call(`c${n}`, "f", text, { id: `fc_${n}` })),
    fc.array(texts, { maxLength: 2 }).map((list) => item.reasoning(`CIPHER-${n}`, list, { id: `rs_${n}` })),
  );
const outputs = fc
  .nat(3)
  .chain((count) => fc.tuple(...Array.from({ length: count + 1 }, (_, n) => outputItem(n))) as fc.Arbitrary<Fields[]>);

/** Which of the wire's repetitions a server leaves out, and where it cuts texts. */
type Manner = {
  readonly numbers: boolean;
  readonly ids: boolean;
  readonly wholeTexts: boolean;
  readonly wholeItems: boolean;
  readonly cut: number;
};
const manners: fc.Arbitrary<Manner> = fc.record({
  numbers: fc.boolean(),
  ids: fc.boolean(),
  wholeTexts: fc.boolean(),
  wholeItems: fc.boolean(),
  cut: fc.integer({ min: 1, max: 3 }),
});

/** The stems and texts an item consists of. */
function textsOf(whole: Fields): readonly (readonly [stem: string, field: string, text: string, at: Fields])[] {
  const content = (whole["content"] ?? []) as readonly Fields[];
  const summary = (whole["summary"] ?? []) as readonly Fields[];
  const called = whole["arguments"];
  return [
    ...(typeof called === "string" ? [["function_call_arguments", "arguments", called, {}] as const] : []),
    ...summary.map(
      (part, n) => ["reasoning_summary_text", "text", String(part["text"]), { summary_index: n }] as const,
    ),
    ...content.map((part, n) => {
      const field = part["type"] === "refusal" ? "refusal" : "text";
      return [field === "text" ? "output_text" : "refusal", field, String(part[field]), { content_index: n }] as const;
    }),
  ];
}

function streamOf(output: readonly Fields[], manner: Manner, last: Fields): string {
  const frames = output.flatMap((whole, index) => {
    // One of the two must be there, or nobody knows which item is meant.
    const numbered = manner.numbers || !manner.ids;
    const at = { ...(numbered ? { output_index: index } : {}), ...(manner.ids ? { item_id: whole["id"] } : {}) };
    const begun = {
      ...whole,
      content: [],
      summary: [],
      ...(whole["arguments"] === undefined ? {} : { arguments: "" }),
    };
    const pieces = textsOf(whole).flatMap(([stem, field, text, place]) => {
      const cut = text.match(new RegExp(`[^]{1,${manner.cut}}`, "gu")) ?? [];
      const deltas = cut.map((delta) => frame(`response.${stem}.delta`, { ...at, ...place, delta }));
      return manner.wholeTexts
        ? [...deltas, frame(`response.${stem}.done`, { ...at, ...place, [field]: text })]
        : deltas;
    });
    // What goes back of a thought stands in the whole item alone.
    const isWhole = manner.wholeItems || whole["type"] === "reasoning";
    const end = isWhole ? [frame("response.output_item.done", { ...at, item: whole })] : [];
    return [frame("response.output_item.added", { ...at, item: begun }), ...pieces, ...end];
  });
  return `${frames.join("")}${frame("response.completed", { response: last })}`;
}

describe("a stream of the responses wire", () => {
  it("comes to the same as the whole response, whichever of its repetitions a server leaves out", async () => {
    await fc.assert(
      fc.asyncProperty(outputs, manners, fc.boolean(), async (output, manner, repeats) => {
        const wanted = await wholeBy(model(JSON.stringify(response(output))));
        const last = repeats ? response(output) : response([]);
        expect(await streamedBy(model(streamOf(output, manner, last)))).toEqual(wanted);
      }),
      { numRuns: 500 },
    );
  });

  const index = fc.constantFrom<unknown>(undefined, 0, 1, "0", null, -1);
  const junk = fc.oneof(fc.constantFrom<unknown>(null, 7, "x", [], {}, "__proto__"), fc.jsonValue({ maxDepth: 2 }));
  const fields = fc.record({
    output_index: index,
    content_index: index,
    item_id: fc.constantFrom("msg_0", "fc_1", "", null),
    delta: fc.oneof(texts, junk),
    text: fc.oneof(texts, junk),
    arguments: fc.oneof(args, junk),
    item: fc.oneof(outputItem(0), outputItem(1), junk),
    response: fc.oneof(
      outputs.map((output): unknown => response(output)),
      junk,
    ),
    error: fc.option(fc.oneof(texts, junk), { nil: undefined, freq: 10 }),
  });
  const types = fc.constantFrom(
    ...["created", "in_progress", "output_item.added", "output_item.done", "output_text.delta", "output_text.done"],
    ...["refusal.delta", "reasoning_summary_text.delta", "function_call_arguments.delta", "completed", "incomplete"],
    ...["function_call_arguments.done", "failed", "done", "toString", "__proto__.delta"],
  );

  it("is a reply whose chunks add up, or a ModelError, whatever a server sends", async () => {
    const kinds = new Set<string | undefined>();
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(types, fields), { maxLength: 6 }), async (list) => {
        const body = list.map(([type, one]) => frame(`response.${type}`, one)).join("");
        // Anything but a ModelError, and chunks that do not add up, throw here.
        const outcome: Outcome = await streamedBy(model(body));
        kinds.add(outcome.error);
      }),
      { numRuns: 1000 },
    );
    expect([...kinds]).toEqual(expect.arrayContaining([undefined, "response-parse", "server"]));
  });
});
