import { checkValues, wholeNumber } from "../../domain/check-values.js";
import { CompositionError } from "../../domain/errors.js";
import type { CompressContext } from "../../ports/compressor.js";

/** How large a request may get before a compressor acts. */
export type RequestRoomOptions = {
  /** Part of the model's window that a request may take, system prompt and tools included: above 0, at most 1. The rest is for the reply. */
  readonly share?: number | undefined;
  /** Tokens in place of a share, for where nobody knows the window. */
  readonly maxTokens?: number | undefined;
};

/** Throws `CompositionError("invalid-config")` for a share that is no part of one, and a number of tokens that is none. */
export function checkRoom(what: string, { share, maxTokens }: RequestRoomOptions): void {
  if (share !== undefined && !(typeof share === "number" && share > 0 && share <= 1)) {
    throw new CompositionError("invalid-config", `${what}: share is no number above 0 and up to 1`);
  }
  checkValues(what, { maxTokens }, { maxTokens: wholeNumber(1) });
}

/** Tokens that the messages of a request may take; nothing where nobody knows a limit. */
export function roomFor(
  context: CompressContext,
  { share, maxTokens }: RequestRoomOptions,
  defaultShare: number,
): number | undefined {
  const { modelContextWindow, overheadTokens = 0 } = context;
  const size =
    maxTokens ?? (modelContextWindow === undefined ? undefined : modelContextWindow * (share ?? defaultShare));
  return size === undefined ? undefined : Math.max(0, size - overheadTokens);
}

/**
 * The same for a conversation of `tokens` that a provider may just have refused: whatever estimates say, half of it at most is left
 * then, also where nobody knows the window.
 */
export function roomNow(
  context: CompressContext,
  options: RequestRoomOptions & { readonly defaultShare: number },
  tokens: number,
): number | undefined {
  const room = roomFor(context, options, options.defaultShare);
  return context.reason === "overflow" ? Math.min(room ?? tokens, Math.floor(tokens / 2)) : room;
}
