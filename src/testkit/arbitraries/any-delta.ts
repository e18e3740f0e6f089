import fc, { type Arbitrary } from "fast-check";
import type { Message } from "../../domain/message.js";
import type { SessionDelta } from "../../domain/session.js";
import { anyMessage } from "./any-message.js";
import { anyJsonObject, anyWord } from "./any-text.js";

/** A write whose base is still to be said: the revision that the session has then. */
export type AnyDelta = Omit<SessionDelta, "baseRevision">;

/**
 * Writes of one session, one after the other: messages `m0`, `m1` and so on, metadata set and unset, now and then what was written stands for itself
 * in a compaction, or a write comes a second time under its operation id. Shrinks to few writes with little in them.
 */
export function anyDeltas(options: { readonly maxLength?: number | undefined } = {}): Arbitrary<readonly AnyDelta[]> {
  const write = fc.record({
    inputs: fc.array(anyMessage(), { maxLength: 2 }),
    metadata: fc.option(anyJsonObject(), { nil: undefined }),
    unset: fc.option(fc.array(anyWord(), { maxLength: 2 }), { nil: undefined }),
    compacts: fc.nat(7).map((n) => n === 7),
    again: fc.nat(7).map((n) => n === 7),
  });
  return fc.array(write, { maxLength: options.maxLength ?? 8 }).map((writes) => {
    let count = 0;
    const deltas: AnyDelta[] = [];
    writes.forEach(({ inputs, metadata, unset, compacts, again }, number) => {
      const before = deltas.at(-1);
      if (again && before !== undefined) return void deltas.push(before);
      const messages = inputs.map((input) => ({ ...input, id: `m${count}`, at: count++ }) as Message);
      const last = messages.at(-1);
      deltas.push({
        operationId: `o${number}`,
        messages,
        ...(metadata === undefined ? {} : { metadata }),
        ...(unset === undefined ? {} : { unset }),
        ...(compacts && last !== undefined ? { compaction: { upTo: last.id, messages: [last] } } : {}),
      });
    });
    return deltas;
  });
}
