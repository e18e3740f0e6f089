import type { CommandOutcome } from "../../domain/command.js";
import { AgentError, CommandError, EnneadError } from "../../domain/errors.js";
import { type AgentMessage, isMessage, textOf } from "../../domain/message.js";
import { parseSlashLine } from "../../domain/slash-line.js";
import { unreachable } from "../../domain/unreachable.js";
import type { AgentApi, TurnHandle } from "../../ports/agent-api.js";
import { sessionChange } from "../commands/session-commands.js";
import { ConsoleObserver } from "../observers/console.js";
import { terminalText } from "../observers/terminal-text.js";
import { LineReader } from "./line-reader.js";
import { wantsToQuit } from "./terminal-commands.js";

export { terminalCommands, wantsToQuit } from "./terminal-commands.js";

/** A chat's surroundings. */
export type TerminalOptions = {
  /** Composed with `terminalCommands()` for `/help` and `/quit`. The host does not shut it down. */
  readonly agent: AgentApi;
  readonly input: NodeJS.ReadableStream;
  /** When input and output are terminals, lines are edited; otherwise they are read as they come and repeated in the output. */
  readonly output: NodeJS.WritableStream;
  /** Goes on with this session; default: the first message begins a new one. */
  readonly sessionId?: string | undefined;
  /** Colours; default false. */
  readonly colour?: boolean | undefined;
  /** Never written: replaced wherever a piece of output holds one of them whole. Under 8 characters it is a placeholder, no secret. */
  readonly secrets?: readonly string[] | undefined;
  /** Tells of interrupts from outside, such as the signal of the process; returns how to stop. Ctrl-C typed in the terminal is seen without. */
  readonly interrupts?: ((listener: () => void) => () => void) | undefined;
};

/** How a chat ended, and the session it was in. */
export type TerminalEnd = {
  readonly reason: "input-ended" | "quit" | "interrupted";
  readonly sessionId?: string | undefined;
};

const PROMPT = "> ";
const SECRET_LENGTH = 8;

/**
 * A chat on two streams: a line is a command or a message, answers and tool calls are shown as they come. In a terminal a message that is
 * typed while a turn runs steers it; other lines wait for its end. The first interrupt aborts the running turn, which keeps what was said so
 * far; the next one, or one while nothing runs, ends the chat. A turn or command that fails is shown, and the chat goes on. Nothing
 * untrusted reaches the output uncleaned.
 */
export function runTerminal(options: TerminalOptions): Promise<TerminalEnd> {
  return new Chat(options).run();
}

class Chat {
  readonly #options: TerminalOptions;
  readonly #view: ConsoleObserver;
  readonly #lines: LineReader;
  readonly #interactive: boolean;
  readonly #left = Promise.withResolvers<void>();
  #sessionId: string | undefined;
  #abortRunning: (() => void) | undefined;
  #reason: TerminalEnd["reason"] | undefined;

  constructor(options: TerminalOptions) {
    const { input, output, colour } = options;
    this.#options = options;
    this.#sessionId = options.sessionId;
    this.#interactive = isTerminal(input) && isTerminal(output);
    this.#view = new ConsoleObserver({ write: (text) => this.#write(text), colour, width: () => columnsOf(output) });
    this.#lines = new LineReader({
      input,
      terminal: this.#interactive ? output : undefined,
      prompt: PROMPT,
      onInterrupt: () => this.#interrupt(),
    });
  }

  async run(): Promise<TerminalEnd> {
    const ignoreInterrupts = this.#options.interrupts?.(() => this.#interrupt());
    try {
      while (this.#reason === undefined) {
        if (this.#interactive) this.#lines.prompt();
        const line = await this.#lines.next();
        if (line === undefined) break;
        await Promise.race([this.#handle(line), this.#left.promise]);
      }
    } finally {
      ignoreInterrupts?.();
      this.#lines.close();
    }
    return { reason: this.#reason ?? "input-ended", sessionId: this.#sessionId };
  }

  async #handle(line: string): Promise<void> {
    if (line.trim() === "") return;
    if (!this.#interactive) this.#write(`\n${PROMPT}${terminalText(line)}\n`);
    try {
      if (!(await this.#command(line))) await this.#turn(line);
    } catch (error) {
      this.#write(`${terminalText(complaint(error))}\n`);
    } finally {
      this.#abortRunning = undefined;
    }
  }

  /** False for a line that is no command. */
  async #command(line: string): Promise<boolean> {
    const controller = new AbortController();
    this.#abortRunning = () => controller.abort();
    const caller = { sessionId: this.#sessionId, signal: controller.signal };
    const outcome = await this.#options.agent.commands.run(line, caller);
    if (outcome === undefined) return false;
    this.#write(`${terminalText(textOfOutcome(outcome))}\n`);
    const change = sessionChange(outcome);
    if (change !== undefined) this.#sessionId = change ?? undefined;
    if (wantsToQuit(outcome)) this.#reason = "quit";
    return true;
  }

  async #turn(message: string): Promise<void> {
    const turn = this.#options.agent.startTurn(message, this.#sessionId, { observers: [this.#view] });
    this.#abortRunning = () => turn.abort("interrupted by the user");
    if (this.#interactive) this.#lines.offer((line) => this.#steer(turn, line));
    // Also follows a conversation that compression moves to another session, and learns the id when the turn fails.
    turn.subscribe((event) => {
      this.#sessionId = event.sessionId;
    });
    try {
      const { finalSessionId, undelivered } = await turn.result;
      this.#sessionId = finalSessionId;
      this.#tellUnheard(undelivered);
    } catch (error) {
      if (error instanceof AgentError) this.#tellUnheard(error.partial?.undelivered ?? []);
      throw error;
    } finally {
      this.#lines.offer(undefined);
    }
  }

  /** A person who types while an answer comes means that answer. Commands, and what comes too late, wait for the end of the turn. */
  #steer(turn: TurnHandle, line: string): boolean {
    if (line.trim() === "" || parseSlashLine(line).ok || !turn.steer(line)) return false;
    this.#write("↪ heard after this step\n");
    return true;
  }

  #tellUnheard(undelivered: readonly AgentMessage[]): void {
    for (const message of undelivered.filter(isMessage)) this.#write(`not heard: ${terminalText(textOf(message))}\n`);
  }

  #interrupt(): void {
    const abort = this.#abortRunning;
    this.#abortRunning = undefined;
    if (abort !== undefined) return abort();
    this.#reason = "interrupted";
    if (this.#interactive) this.#write("\n");
    this.#lines.close();
    this.#left.resolve();
  }

  #write(text: string): void {
    const { output, secrets = [] } = this.#options;
    const hide = (shown: string, secret: string): string =>
      secret.length < SECRET_LENGTH ? shown : shown.replaceAll(secret, "[secret]");
    output.write(secrets.reduce(hide, text));
  }
}

function textOfOutcome(outcome: CommandOutcome): string {
  switch (outcome.type) {
    case "success":
      return outcome.feedback;
    case "failure":
      return outcome.reason;
    case "needsInput":
      return outcome.prompt;
    default:
      return unreachable(outcome);
  }
}

function isTerminal(stream: NodeJS.ReadableStream | NodeJS.WritableStream): boolean {
  return "isTTY" in stream && stream.isTTY === true;
}

function columnsOf(output: NodeJS.WritableStream): number {
  return "columns" in output && typeof output.columns === "number" && output.columns > 0 ? output.columns : 100;
}

/** What a person can do something with: our own error and the typed one beneath it. Other errors are named by class. */
function complaint(error: unknown): string {
  if (error instanceof CommandError) return error.message;
  if (!EnneadError.is(error)) return `failed: ${error instanceof Error ? error.message : String(error)}`;
  return EnneadError.is(error.cause) ? `${error.message}: ${error.cause.message}` : error.message;
}
