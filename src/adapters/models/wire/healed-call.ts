import type { ModelResponse } from "../../../domain/model.js";
import type { ChatRequest } from "../../../ports/model.js";

/** What is asked of a provider. */
export type Asked = {
  readonly request: ChatRequest;
  /** Whether earlier replies go back with what only their provider can read: reasoning, signatures, ciphers. */
  readonly replays: boolean;
  /** The provider wants the field of reasoning with every call, empty where there was none. */
  readonly demandsReasoning?: boolean;
};

/** What to ask instead of what was refused with `error`; undefined where this cure is for another illness. */
export type Healer = (asked: Asked, error: unknown) => Asked | undefined;

/**
 * Asks, and asks again without what the provider refused, so that no conversation is refused for ever. Each healer cures once, whatever
 * the order in which the provider complains; the last refusal is the error.
 */
export async function callHealing(
  first: Asked,
  send: (asked: Asked) => Promise<ModelResponse>,
  healers: readonly Healer[],
): Promise<ModelResponse> {
  let asked = first;
  let left = healers;
  for (;;) {
    try {
      return await send(asked);
    } catch (error) {
      const healer = left.find((one) => one(asked, error) !== undefined);
      const cured = healer?.(asked, error);
      if (cured === undefined) throw error;
      asked = cured;
      left = left.filter((one) => one !== healer);
    }
  }
}
