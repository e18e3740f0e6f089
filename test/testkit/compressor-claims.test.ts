import { describe, test } from "vitest";
import { NoopCompressor } from "../../src/adapters/compressors/noop.js";
import { ModelError } from "../../src/domain/errors.js";
import { type AgentMessage, assistantMessage, type MessageInput, userMessage } from "../../src/domain/message.js";
import { exchangesOf } from "../../src/domain/exchanges.js";
import { isPinned } from "../../src/domain/pins.js";
import type { CompressAction, CompressContext, Compressor } from "../../src/ports/compressor.js";
import { newestWithin } from "../../src/adapters/compressors/newest-within.js";
import { compressorClaims, type CompressorFixture, RecordingCompressor } from "../../src/testkit/index.js";
import { runClaims } from "../../src/testkit/claims/index.js";
import { proveClaims } from "./prove-claims.js";

const MOST = 12;

/** Keeps the newest messages, for those it was not told to wait or fail for. */
function shortened(messages: readonly AgentMessage[]): CompressAction {
  const kept = newestWithin(messages, { limit: MOST, weigh: () => 1 });
  return kept.length < messages.length ? { type: "view", messages: kept } : { type: "none" };
}

/** Sound in every way unless a broken one takes something over. */
class Sound implements Compressor, CompressorFixture {
  readonly name: string = "sound";
  readonly compressor = this;
  #waits = false;
  #fails = false;

  hang(): void {
    this.#waits = true;
  }
  break(): void {
    this.#fails = true;
  }
  async compress(messages: readonly AgentMessage[], context: CompressContext): Promise<CompressAction> {
    if (this.#waits) await this.wait(context.signal);
    if (this.#fails) return this.failure(messages);
    return this.changed(shortened(messages), messages, context);
  }
  wait(signal: AbortSignal): Promise<void> {
    return new Promise((_, reject) => {
      signal.addEventListener("abort", () => reject(new ModelError("aborted", "aborted")), { once: true });
    });
  }
  failure(_messages: readonly AgentMessage[]): CompressAction {
    throw new ModelError("server", "down");
  }
  changed(action: CompressAction, _messages: readonly AgentMessage[], _context: CompressContext): CompressAction {
    return action;
  }
}

describe("the recording compressor", () => {
  const steps = Array.from({ length: 60 }, () => shortened);
  const capabilities = { waits: { missing: "it asks nobody" }, fails: { missing: "it asks nobody" } } as const;
  const make = () => ({ compressor: new RecordingCompressor(steps) });
  runClaims({ test, claims: compressorClaims, make, capabilities });
});

describe("the noop compressor", () => {
  const missing = { missing: "it does nothing" } as const;
  const make = () => ({ compressor: new NoopCompressor() });
  runClaims({ test, claims: compressorClaims, make, capabilities: { acts: missing, waits: missing, fails: missing } });
});

type View = readonly (AgentMessage | MessageInput)[];

/** Changes what it proposes. */
const proposing = (change: (view: readonly AgentMessage[], messages: readonly AgentMessage[]) => View) => () =>
  new (class extends Sound {
    override changed(action: CompressAction, messages: readonly AgentMessage[]): CompressAction {
      return action.type === "view"
        ? { ...action, messages: change(action.messages as AgentMessage[], messages) }
        : action;
    }
  })();

const broken: Readonly<Record<string, () => CompressorFixture>> = {
  "compressor-is-named": () =>
    new (class extends Sound {
      override readonly name = "";
    })(),
  "compressor-answers-actions": () =>
    new (class extends Sound {
      override changed(
        action: CompressAction,
        _: readonly AgentMessage[],
        { reason }: CompressContext,
      ): CompressAction {
        return reason === "requested" ? ({ type: "later" } as unknown as CompressAction) : action;
      }
    })(),
  "compressor-leaves-messages-alone": () =>
    new (class extends Sound {
      override changed(action: CompressAction, messages: readonly AgentMessage[]): CompressAction {
        const [first] = messages;
        if (first !== undefined && !Object.isFrozen(first)) Object.assign(first, { seen: true });
        return action;
      }
    })(),
  "compressor-leaves-small-alone": () =>
    new (class extends Sound {
      override changed(action: CompressAction, messages: readonly AgentMessage[]): CompressAction {
        return messages.length === 3 ? { type: "view", messages: messages.slice(2) } : action;
      }
    })(),
  "compressor-answers-sessions-apart": () =>
    new (class extends Sound {
      #last: string | undefined;
      override async compress(messages: readonly AgentMessage[], context: CompressContext): Promise<CompressAction> {
        this.#last = context.sessionId;
        await Promise.resolve();
        return this.#last === context.sessionId ? super.compress(messages, context) : { type: "none" };
      }
    })(),
  "compressor-aborts": () =>
    new (class extends Sound {
      override wait(): Promise<void> {
        return Promise.withResolvers<void>().promise;
      }
    })(),
  "compressor-fails-typed": () =>
    new (class extends Sound {
      override failure(): CompressAction {
        throw new Error("503");
      }
    })(),
  "compressor-keeps-exchanges": proposing((view) => {
    const pair = exchangesOf(view).find(({ messages }) => messages.length > 1 && messages.at(-1) !== view.at(-1));
    const result = pair?.messages.at(-1);
    return view.filter((message) => message !== result || isPinned(message));
  }),
  "compressor-keeps-the-newest": proposing((view, messages) => {
    const newest = messages.findLast(({ role }) => role === "user");
    const other = messages.find(({ role }) => role === "user");
    return other === newest
      ? view
      : [...new Set([other as AgentMessage, ...view.filter((message) => message !== newest)])];
  }),
  "compressor-keeps-open-calls": proposing((view) => {
    const last = view.at(-1);
    return last?.role === "assistant" ? view.slice(0, -1) : view;
  }),
  "compressor-keeps-pins": proposing((view) => view.filter((message) => message.role !== "system")),
  "compressor-keeps-order": proposing((view) => {
    const at = view.findIndex(({ role }) => role === "user");
    const next = view.findIndex(({ role }, index) => index > at && role === "user");
    return next < 0 ? view : [view[next] as AgentMessage, ...view.filter((_, index) => index !== next)];
  }),
  "compressor-names-known-messages": proposing((view) => [
    { ...view[0], ...userMessage("made up"), id: "made up" } as AgentMessage,
    ...view,
  ]),
  "compressor-begins-with-the-user": proposing((view) => [assistantMessage("A summary."), ...view]),
  "compressor-shrinks": proposing((view) => [userMessage("word ".repeat(40_000)), ...view]),
};

proveClaims("compressorClaims", { claims: compressorClaims, sound: () => new Sound(), broken });
