import { CompositionError, ModelError } from "../../domain/errors.js";
import { estimateAll } from "../../domain/estimate.js";
import { isJsonObject } from "../../domain/json.js";
import { checkFields } from "../../domain/known-fields.js";
import type { AgentMessage, Message } from "../../domain/message.js";
import { stampMessage } from "../../domain/stamp-message.js";
import type { CompressAction, CompressContext, Compressor, ContextMessages } from "../../ports/compressor.js";

/** How the compressors of a chain work together. */
export type ChainOptions = {
  /**
   * `"first"` (default): the first that does anything. `"all"`: one after another, each on the view of those before it, until one
   * replaces messages or goes on in a new thread.
   */
  readonly mode?: "first" | "all" | undefined;
};

/**
 * Several compressors as one. One whose model fails is told as a secondary failure, and the next is asked; where none of the others does
 * anything either, the failure is the chain's.
 */
export class ChainCompressor implements Compressor {
  readonly name: string;
  readonly #compressors: readonly Compressor[];
  readonly #all: boolean;

  /** Throws `CompositionError("invalid-config")` for what is no compressor, and an option that is none. */
  constructor(compressors: readonly Compressor[], options: ChainOptions = {}) {
    checkFields("ChainCompressor", options, ["mode"]);
    const { mode = "first" } = options;
    if (mode !== "first" && mode !== "all") throw invalid("mode is neither first nor all");
    if (!Array.isArray(compressors) || !compressors.every(isCompressor)) throw invalid("a part is no compressor");
    this.#compressors = [...compressors];
    this.#all = mode === "all";
    this.name = `chain(${compressors.map(({ name = "compressor" }) => name).join(", ")})`;
  }

  async compress(messages: readonly AgentMessage[], context: CompressContext): Promise<CompressAction> {
    let shown: View | undefined;
    let failure: ModelError | undefined;
    for (const compressor of this.#compressors) {
      context.signal.throwIfAborted();
      const current = shown?.messages ?? messages;
      const asked = shown === undefined ? context : { ...context, estimatedTokens: sizeOf(current, context) };
      let action: CompressAction;
      try {
        action = await compressor.compress([...current], asked);
      } catch (error) {
        if (!(error instanceof ModelError)) throw error;
        if (failure !== undefined) context.report?.(failure);
        failure = error;
        continue;
      }
      // What is no action is refused, and told, by who asked the chain.
      if (!isAction(action)) return action;
      if (action.type === "none") continue;
      if (action.type !== "view" || !this.#all) return told(context, failure, withoutOwnIds(action, shown));
      shown = viewOf(action.messages, shown);
    }
    if (shown !== undefined)
      return told(context, failure, withoutOwnIds({ type: "view", messages: shown.messages }, shown));
    if (failure !== undefined) throw failure;
    return { type: "none" };
  }
}

/** A message without an id, and what stands for it while other compressors see it. */
type Own = { readonly input: ContextMessages[number]; readonly stamped: AgentMessage };

/** A view as the next compressor sees it; `own` by the ids that are the chain's. */
type View = { readonly messages: readonly AgentMessage[]; readonly own: ReadonlyMap<string, Own> };

function viewOf(messages: ContextMessages, before: View | undefined): View {
  const own = new Map(before?.own);
  const shown = messages.map((input) => {
    if ("id" in input && input.id !== undefined) return input as AgentMessage;
    const stamped = stampMessage(input, `chain.${own.size}`, 0, "message of a view");
    own.set(stamped.id, { input, stamped });
    return stamped;
  });
  return { messages: shown, own };
}

/** Messages that had no id have none again, changed ones too. */
function withoutOwnIds<A extends Exclude<CompressAction, { type: "none" }>>(action: A, shown: View | undefined): A {
  if (shown === undefined || shown.own.size === 0) return action;
  return { ...action, messages: action.messages.map((message) => withoutOwnId(message, shown.own)) };
}

function withoutOwnId(message: ContextMessages[number], own: View["own"]): ContextMessages[number] {
  const known = "id" in message ? own.get(message.id) : undefined;
  if (known === undefined || known.stamped === message) return known?.input ?? message;
  const { id: _id, at: _at, ...input } = message as Message;
  return input;
}

function told(context: CompressContext, failure: ModelError | undefined, action: CompressAction): CompressAction {
  if (failure !== undefined) context.report?.(failure);
  return action;
}

function sizeOf(messages: readonly AgentMessage[], { correction = 1 }: CompressContext): number {
  return Math.ceil(estimateAll(messages) * correction);
}

function isAction(value: unknown): boolean {
  if (!isJsonObject(value)) return false;
  const { type, messages } = value;
  return type === "none" || (Array.isArray(messages) && messages.every(isJsonObject));
}

function isCompressor(value: unknown): value is Compressor {
  return typeof value === "object" && value !== null && "compress" in value && typeof value.compress === "function";
}

function invalid(text: string): CompositionError {
  return new CompositionError("invalid-config", `ChainCompressor: ${text}`);
}
