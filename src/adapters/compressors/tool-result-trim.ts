import { adopt } from "../../domain/adopt.js";
import { type Content, contentText } from "../../domain/content.js";
import { checkValues, wholeNumber } from "../../domain/check-values.js";
import { checkFields } from "../../domain/known-fields.js";
import { type AgentMessage, isMessage, type ToolMessage } from "../../domain/message.js";
import { isPinned } from "../../domain/pins.js";
import type { CompressAction, CompressContext, Compressor } from "../../ports/compressor.js";
import { checkRoom, roomFor, type RequestRoomOptions } from "./request-room.js";
import { shortenedText } from "./shortened-text.js";

export type { RequestRoomOptions } from "./request-room.js";

/** Which results are shortened, and from which size of a request on; default half of the model's window, at once where nobody knows it. */
export type ToolResultTrimOptions = RequestRoomOptions & {
  /** The newest results, which stay whole; default 5. */
  readonly keepNewest?: number | undefined;
  /** Characters that are left of an older result, beside a note of what was cut; default 2,000. */
  readonly maxCharacters?: number | undefined;
};

const DEFAULT_SHARE = 0.5;
const DEFAULT_KEPT = 5;
const DEFAULT_CHARACTERS = 2_000;

/**
 * Shows old, large tool results by their beginning and end, and their pictures and files by a note; the session keeps all. Errors,
 * results of unknown outcome, pinned ones and the newest stay as they are. It leaves out no message, so that it may stand in front of a
 * compressor that does; a view begins with a user message all the same (C1).
 */
export class ToolResultTrimCompressor implements Compressor {
  readonly name = "tool-result-trim";
  readonly #room: RequestRoomOptions;
  readonly #keepNewest: number;
  readonly #maxCharacters: number;
  readonly #trimmed = new WeakMap<ToolMessage, ToolMessage>();

  /** Throws `CompositionError("invalid-config")` for an option that is none. */
  constructor(options: ToolResultTrimOptions = {}) {
    const what = "ToolResultTrimCompressor";
    checkFields(what, options, ["share", "maxTokens", "keepNewest", "maxCharacters"]);
    checkRoom(what, options);
    checkValues(what, options, { keepNewest: wholeNumber(0), maxCharacters: wholeNumber(0) });
    const { keepNewest = DEFAULT_KEPT, maxCharacters = DEFAULT_CHARACTERS, share, maxTokens } = options;
    this.#room = { share, maxTokens };
    this.#keepNewest = keepNewest;
    this.#maxCharacters = maxCharacters;
  }

  compress(messages: readonly AgentMessage[], context: CompressContext): CompressAction {
    const room = roomFor(context, this.#room, DEFAULT_SHARE);
    const fits = room !== undefined && context.estimatedTokens <= room;
    if (fits && context.reason === "before-model") return { type: "none" };
    const results = messages.filter(isResult);
    const old = new Set<AgentMessage>(results.slice(0, Math.max(0, results.length - this.#keepNewest)));
    const view = messages.map((message) => (isResult(message) && old.has(message) ? this.#trim(message) : message));
    return view.some((message, index) => message !== messages[index])
      ? { type: "view", messages: view }
      : { type: "none" };
  }

  /** The same copy every time, so that a provider's cache knows it again. */
  #trim(result: ToolMessage): ToolMessage {
    const before = this.#trimmed.get(result);
    if (before !== undefined) return before;
    const content = trimmedContent(result, this.#maxCharacters);
    const trimmed = content === undefined ? result : adopt({ ...result, content }, "trimmed result");
    this.#trimmed.set(result, trimmed);
    return trimmed;
  }
}

function isResult(message: AgentMessage): message is ToolMessage {
  return isMessage(message) && message.role === "tool";
}

/** Nothing where the result stays as it is. */
function trimmedContent(result: ToolMessage, maxCharacters: number): readonly Content[] | undefined {
  const { content, structured, isError, outcome } = result;
  if (isError || outcome !== "completed" || isPinned(result)) return undefined;
  const shown = content.length === 0 && structured !== undefined ? JSON.stringify(structured) : contentText(content);
  const text = shortenedText(shown, maxCharacters, (leftOut) => `${leftOut} of ${shown.length} ${NOTE}`);
  const media = content.filter((part) => part.type === "image" || part.type === "file");
  if (text === shown && media.length === 0) return undefined;
  const notes = media.map(({ mimeType }) => `[${mimeType.slice(0, 100)} of this older result is left out]`);
  return [{ type: "text", text: [text, ...notes].filter((line) => line !== "").join("\n") }];
}

const NOTE = "characters of this older result are left out here; call the tool again where they are needed";
