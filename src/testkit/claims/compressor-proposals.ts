import { estimateAll } from "../../domain/estimate.js";
import { exchangesOf } from "../../domain/exchanges.js";
import { isPinned } from "../../domain/pins.js";
import { stampMessage } from "../../domain/stamp-message.js";
import { type CompressorClaim, type Proposed, proposals } from "./compressor-fixture.js";
import { lastExchange } from "./compressor-samples.js";
import { expectEqual, expectThat } from "./expectations.js";

/** A claim about all that it proposes for the samples. */
function about(id: string, title: string, check: (proposed: Proposed) => void): CompressorClaim {
  return {
    id: `compressor-${id}`,
    title,
    needs: "acts",
    async check(fixture) {
      for (const proposed of await proposals(fixture)) check(proposed);
    },
  };
}

/** What a compressor proposes. */
export const compressorProposalClaims: readonly CompressorClaim[] = [
  about("keeps-exchanges", "a call and its results are kept together, or left out together", (proposed) => {
    const kept = keptIds(proposed);
    for (const { messages } of exchangesOf(proposed.sample.messages)) {
      const [first] = messages;
      const whole = messages.every(({ id }) => kept.has(id) === kept.has(first?.id));
      expectThat(whole, place(proposed, "no exchange is cut"));
    }
  }),
  about("keeps-the-newest", "the newest user message and the last exchange stay", (proposed) => {
    const { messages } = proposed.sample;
    const kept = keptIds(proposed);
    const newest = messages.findLast(({ role }) => role === "user");
    expectThat(newest === undefined || kept.has(newest.id), place(proposed, "the newest user message stays"));
    const open = proposed.sample.open === true;
    const last = open ? [] : lastExchange(messages);
    // A reply at the end of an earlier turn may be what is compressed.
    const running = last.at(-1)?.role === "tool";
    if (running) for (const { id } of last) expectThat(kept.has(id), place(proposed, "the last exchange stays"));
  }),
  about("keeps-open-calls", "a call that waits for a decision stays", (proposed) => {
    if (proposed.sample.open !== true) return;
    expectThat(keptIds(proposed).has(proposed.sample.messages.at(-1)?.id), place(proposed, "the waiting call stays"));
  }),
  about("keeps-pins", "a pinned message stays as it is", (proposed) => {
    for (const message of proposed.sample.messages.filter(isPinned)) {
      const kept = proposed.after.find((other) => "id" in other && other.id === message.id);
      expectThat(kept !== undefined, place(proposed, "a pinned message stays"));
      expectEqual(kept, message, place(proposed, "the pinned message"));
    }
  }),
  about("keeps-order", "what stays keeps its order, once each", (proposed) => {
    const order = proposed.sample.messages.map(({ id }) => id);
    const places = proposed.after.flatMap((message) => ("id" in message ? [order.indexOf(message.id)] : []));
    const known = places.filter((at) => at >= 0);
    expectThat(
      known.every((at, index) => index === 0 || at > (known[index - 1] ?? 0)),
      place(proposed, "messages stand in the order of the conversation"),
    );
  }),
  about("names-known-messages", "every id is one of the conversation", (proposed) => {
    const known = new Set<unknown>(proposed.sample.messages.map(({ id }) => id));
    for (const message of proposed.action.messages) {
      const id: unknown = Reflect.get(message, "id");
      expectThat(id === undefined || known.has(id), place(proposed, "a message of its own has no id"));
    }
    const upTo = proposed.action.type === "replace" ? proposed.action.upTo : undefined;
    expectThat(upTo === undefined || known.has(upTo), place(proposed, "upTo is the id of a message"));
  }),
  about("begins-with-the-user", "the first message that is no instruction is the user's", (proposed) => {
    const first = proposed.after.find(({ role }) => role !== "system");
    expectThat(first?.role === "user", place(proposed, "the conversation begins with a user message"));
  }),
  about("shrinks", "what it proposes is smaller than what it was given", (proposed) => {
    const after = proposed.after.map((message, index) => stampMessage(message, `after.${index}`, 0, "message"));
    const smaller = estimateAll(after) < estimateAll(proposed.sample.messages);
    expectThat(smaller, place(proposed, "the estimate is smaller"));
  }),
];

function keptIds({ after }: Proposed): ReadonlySet<unknown> {
  return new Set(after.map((message) => Reflect.get(message, "id") as unknown));
}

function place({ sample }: Proposed, what: string): string {
  return `${sample.name}: ${what}`;
}
