import fc from "fast-check";
import type { Message } from "../../../src/domain/message.js";

/** Stands in all that only another provider may be told. */
export const FOREIGN = "FOREIGN-DATA";

const ids = fc.constantFrom("c1", "c2", "c3", "", "größe 1", "x".repeat(70));
const names = fc.constantFrom("f", "g", "fs.list", "", `srv_${"y".repeat(80)}`);
const texts = fc.oneof(fc.constantFrom("", " \n", "\ud800", "a"), fc.string({ maxLength: 8 }));
const junk = fc.oneof(
  fc.constantFrom<unknown>(null, 7, "x", [], {}, { type: 3 }, { type: "hologram" }, { type: "text" }),
  fc.jsonValue({ maxDepth: 2 }),
);

const text = fc.record({ type: fc.constant("text"), text: texts });
const media = fc.record({
  type: fc.constantFrom("image", "file"),
  source: fc.oneof(
    fc.record({ base64: fc.constantFrom("QQ==", "QQ", "", "no base64!") }),
    fc.record({ url: fc.constantFrom("https://x.test/a.png", "data:image/png;base64,QQ==", "file:///a", "") }),
    junk,
  ),
  mimeType: fc.constantFrom("image/png", "image/tiff", "application/pdf", "audio/wav", ""),
});
const content = fc.oneof(
  { weight: 6, arbitrary: fc.array(fc.oneof({ weight: 4, arbitrary: text }, media, junk), { maxLength: 3 }) },
  { weight: 1, arbitrary: texts },
  { weight: 1, arbitrary: junk },
);

/** Data of this provider, of another, or of nobody, beside a part. */
const partData = (data: fc.Arbitrary<unknown>) => fc.option(fc.oneof(data, junk), { nil: undefined });
const args = fc.oneof(
  fc.dictionary(fc.string({ maxLength: 3 }), fc.jsonValue({ maxDepth: 1 }), { maxKeys: 2 }),
  fc.constantFrom<unknown>(null, '{"a":1}', '{"a', [1], 7, undefined),
);
const raws = fc.option(fc.constantFrom<unknown>('{"n":9007199254740993}', "broken", "[1]", 7), { nil: undefined });

function parts(data: fc.Arbitrary<unknown>) {
  const call = fc.record({
    type: fc.constant("toolCall"),
    id: fc.oneof({ weight: 8, arbitrary: ids }, junk),
    name: fc.oneof({ weight: 8, arbitrary: names }, junk),
    arguments: args,
    raw: raws,
    providerData: partData(data),
  });
  const said = fc.record({ type: fc.constant("text"), text: texts, providerData: partData(data) });
  const thought = fc.record({ type: fc.constant("reasoning"), text: texts, providerData: partData(data) });
  const list = fc.array(fc.oneof({ weight: 4, arbitrary: call }, said, thought, junk), { maxLength: 4 });
  return fc.oneof({ weight: 8, arbitrary: list }, junk);
}

const stopped = fc.option(fc.constantFrom("aborted", "error"), { nil: undefined, freq: 6 });

/** Data that another provider gave, in the shapes of this one and in others. */
const foreign = (own: fc.Arbitrary<unknown>) =>
  own.map((data): unknown => JSON.parse(JSON.stringify(data ?? null).replaceAll("OWN", FOREIGN)) as unknown);

/** Conversations as a store may hold them: legal, cut, reordered and damaged in every way; `data` is what this provider keeps beside parts. */
export function storedTranscripts(data: fc.Arbitrary<unknown>): fc.Arbitrary<readonly Message[]> {
  const reply = (provider: string | undefined, beside: fc.Arbitrary<unknown>) =>
    fc.record({ role: fc.constant("assistant"), provider: fc.constant(provider), parts: parts(beside), stopped });
  const message = fc.oneof(
    { weight: 4, arbitrary: reply("own", data) },
    { weight: 2, arbitrary: reply("another", foreign(data)) },
    { weight: 1, arbitrary: reply(undefined, data) },
    { weight: 3, arbitrary: fc.record({ role: fc.constantFrom("user", "system", "note"), content, name: texts }) },
    {
      weight: 6,
      arbitrary: fc.record({
        role: fc.constant("tool"),
        toolCallId: ids,
        toolName: names,
        content,
        structured: fc.option(fc.jsonValue({ maxDepth: 1 }), { nil: undefined }),
        isError: fc.boolean(),
        outcome: fc.constant("completed"),
      }),
    },
  );
  return fc
    .array(message, { maxLength: 8 })
    .map((list) => list.map((one, n) => ({ id: `m${n}`, at: n, ...one })) as unknown as readonly Message[]);
}

/** The value with everything in it frozen: who changes it fails. */
export function deepFrozen<T>(value: T): T {
  if (typeof value !== "object" || value === null) return value;
  for (const field of Object.values(value)) deepFrozen(field);
  return Object.freeze(value);
}
