import type { TurnEvent, TurnEventOf, TurnSummary } from "../../domain/event.js";
import { contentText } from "../../domain/content.js";
import { textOf } from "../../domain/message.js";
import type { StreamChunk } from "../../domain/stream-chunk.js";
import type { ToolExchange } from "../../domain/tool.js";
import type { Usage } from "../../domain/usage.js";
import type { Observer } from "../../ports/observer.js";
import { terminalLine, TerminalTextCleaner, terminalText } from "./terminal-text.js";

/** How the view is written. */
export type ConsoleObserverOptions = {
  /** Default: standard output. Gets clean text, colour codes of our own included where `colour` is set. */
  readonly write?: ((text: string) => void) | undefined;
  /** Default false. */
  readonly colour?: boolean | undefined;
  /** Columns a tool line may take; asked for every line. Default 100. */
  readonly width?: (() => number) | undefined;
  /** Shows the model's reasoning as it arrives; default false. */
  readonly reasoning?: boolean | undefined;
};

type Colour = "dim" | "red" | "green" | "cyan";

const CODES: Readonly<Record<Colour, string>> = { dim: "2", red: "31", green: "32", cyan: "36" };

/** What is known of a running turn: the messages whose text was shown as it arrived. */
type Live = { readonly shown: Set<string>; readonly text: TerminalTextCleaner };

/**
 * A live view for people: answer text as it arrives, a line when a tool starts and when it ends, a line for the turn with its usage.
 * Text from models and tools is cleaned of everything a terminal would obey. Turns that run at the same time interleave by the piece.
 */
export class ConsoleObserver implements Observer {
  readonly #write: (text: string) => void;
  readonly #colour: boolean;
  readonly #width: () => number;
  readonly #reasoning: boolean;
  readonly #live = new Map<string, Live>();
  #lineOpen = false;

  constructor(options: ConsoleObserverOptions = {}) {
    this.#write = options.write ?? ((text) => void process.stdout.write(text));
    this.#colour = options.colour ?? false;
    this.#width = options.width ?? (() => 100);
    this.#reasoning = options.reasoning ?? false;
  }

  onEvent(event: TurnEvent): void {
    switch (event.type) {
      case "streamChunk":
        return this.#chunk(event, event.chunk);
      case "modelResponse":
        return this.#response(event);
      case "toolCallStarted": {
        const { toolName, executedInput } = event.invocation;
        return this.#line(`→ ${toolName} ${JSON.stringify(executedInput)}`, "cyan");
      }
      case "toolCallResult":
        return this.#result(event.exchange, event.isError);
      case "toolCallDeferred":
        return this.#line(`? ${event.call.name} waits for a decision: ${event.reason}`, "cyan");
      case "contextReplaced":
        return this.#line(`context: ${event.before} messages became ${event.after}`, "dim");
      case "sessionRedirect":
        return this.#line(`the conversation goes on in session ${event.to}`, "dim");
      case "turnCompleted":
        return this.#end(event.turnId, `${event.summary.status}, ${summaryLine(event.summary)}`, "dim");
      case "turnStopped":
        return this.#end(event.turnId, `stopped (${event.reason}): ${summaryLine(event.summary)}`, "dim");
      case "turnAborted":
        return this.#end(event.turnId, `aborted (${event.reason}): ${summaryLine(event.summary)}`, "red");
      case "turnFailed":
        return this.#end(event.turnId, `failed: ${event.category}`, "red");
      default:
        return;
    }
  }

  #chunk(event: TurnEventOf<"streamChunk">, chunk: StreamChunk): void {
    const live = this.#liveOf(event.turnId);
    if (chunk.type === "textDelta") {
      live.shown.add(event.messageId);
      this.#piece(live.text.push(chunk.text));
    } else if (chunk.type === "reasoningDelta" && this.#reasoning && chunk.redacted !== true) {
      this.#piece(terminalText(chunk.text), "dim");
    } else if (chunk.type === "reset") {
      live.text.end();
      live.shown.delete(event.messageId);
      this.#line(`↻ starting over: ${chunk.reason}`, "dim");
    }
  }

  #response({ turnId, message }: TurnEventOf<"modelResponse">): void {
    const live = this.#liveOf(turnId);
    this.#piece(live.shown.has(message.id) ? live.text.end() : terminalText(textOf(message)));
    live.shown.delete(message.id);
    this.#closeLine();
  }

  #result(exchange: ToolExchange, isError: boolean): void {
    const { content, structured } = exchange.result;
    const text = contentText(content);
    const shown = text === "" && structured !== undefined ? JSON.stringify(structured) : text;
    const mark = isError ? "✗" : "✓";
    const ran =
      exchange.outcome === "not-started" ? " (did not run)" : exchange.outcome === "unknown" ? " (cut off)" : "";
    this.#line(`${mark} ${exchange.toolName}${ran}: ${shown}`, isError ? "red" : "green");
  }

  #end(turnId: string, text: string, colour: Colour): void {
    const live = this.#live.get(turnId);
    if (live !== undefined) this.#piece(live.text.end());
    this.#live.delete(turnId);
    this.#line(`— ${text}`, colour);
  }

  #liveOf(turnId: string): Live {
    const known = this.#live.get(turnId);
    if (known !== undefined) return known;
    const live = { shown: new Set<string>(), text: new TerminalTextCleaner() };
    this.#live.set(turnId, live);
    return live;
  }

  #piece(text: string, colour?: Colour): void {
    if (text === "") return;
    this.#write(this.#paint(text, colour));
    this.#lineOpen = !text.endsWith("\n");
  }

  #line(text: string, colour: Colour): void {
    this.#closeLine();
    this.#write(`${this.#paint(terminalLine(text, Math.max(20, this.#width() - 1)), colour)}\n`);
  }

  #closeLine(): void {
    if (this.#lineOpen) this.#write("\n");
    this.#lineOpen = false;
  }

  #paint(text: string, colour?: Colour): string {
    if (!this.#colour || colour === undefined) return text;
    return `\u001b[${CODES[colour]}m${text}\u001b[0m`;
  }
}

function summaryLine({ rounds, toolCalls, usage, deferred }: TurnSummary): string {
  const parts = [count(rounds, "round"), count(toolCalls, "tool call"), usageText(usage)];
  if (deferred.length > 0) parts.push(`${count(deferred.length, "call")} waiting for a decision`);
  return parts.join(", ");
}

function count(value: number, noun: string): string {
  return `${value} ${noun}${value === 1 ? "" : "s"}`;
}

/** Says so where the model told nothing: unknown is not zero. */
function usageText({ inputTokens, outputTokens, totalTokens }: Usage): string {
  if (inputTokens !== undefined || outputTokens !== undefined)
    return `${inputTokens ?? "?"} tokens in, ${outputTokens ?? "?"} out`;
  return totalTokens === undefined ? "no token count" : `${totalTokens} tokens`;
}
