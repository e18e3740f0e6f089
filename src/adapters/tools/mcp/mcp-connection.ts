import type { Transport } from "@modelcontextprotocol/client";
import { ToolError } from "../../../domain/errors.js";
import { safeLabel } from "../../../domain/safe-label.js";
import type { ToolResult } from "../../../domain/tool.js";
import { BackOff } from "./back-off.js";
import { CallClock } from "./call-clock.js";
import type { McpEvent } from "./mcp-events.js";
import { callError, isSessionGone, reasonOf } from "./mcp-failure.js";
import type { McpServer, McpSettings } from "./mcp-options.js";
import { McpSession, type SessionCall } from "./mcp-session.js";
import { lastWords, secretsOf, transportOf } from "./mcp-transports.js";
import { Noises } from "./noises.js";
import { orAborted } from "./or-aborted.js";
import { Questions } from "./questions.js";
import type { Secrets } from "./secrets.js";
import type { ToolPages } from "./tool-pages.js";

const START_MS = 20_000;
const SILENCE_MS = 60_000;
const TOTAL_MS = 600_000;

/** What a connection tells the provider. */
export type ConnectionListener = {
  readonly onEvent: (event: McpEvent) => void;
  /** The list may be another. */
  readonly onStale: () => void;
  /** The list is read. */
  readonly onListed: (pages: ToolPages) => void;
};

/** How a call of the agent is made. */
export type ConnectionCall = Omit<SessionCall, "onSign"> & {
  /** May be asked twice, of a session that was forgotten and of the next. */
  readonly ask: (session: McpSession, call: SessionCall) => Promise<unknown>;
  /** Throws `NoResult`. */
  readonly decode: (answer: unknown) => ToolResult;
};

/** One server through all its connections: started once, tried again with back-off when it is lost, closed for good by `close`. */
export class McpConnection {
  readonly server: string;
  readonly #options: McpServer;
  readonly #settings: McpSettings;
  readonly #listener: ConnectionListener;
  readonly #secrets: Secrets;
  readonly #backOff: BackOff;
  readonly #questions = new Questions();
  readonly #closed = new AbortController();
  #session: McpSession | undefined;
  #connecting: Promise<void> | undefined;
  #listing: Promise<void> | undefined;
  #known = false;
  #state: "new" | "up" | "down" = "new";
  #failureTold = false;
  #stale = false;
  /** The last listing took too long: nobody waits for the next. */
  #slow = false;
  #leftovers = new Set<Promise<void>>();

  constructor(server: string, options: McpServer, settings: McpSettings, listener: ConnectionListener) {
    this.server = server;
    this.#options = options;
    this.#settings = settings;
    this.#listener = listener;
    this.#secrets = secretsOf(options);
    this.#backOff = new BackOff(settings.runtime);
  }

  /** Connects and lists for the first time, or waits for whoever does. Never rejects: true when its tools are known. */
  async start(): Promise<boolean> {
    if (this.#session === undefined && !this.#backOff.waiting) await this.#connect();
    return this.#session !== undefined && this.#known;
  }

  /**
   * Reads the list anew if it may have changed; does not wait for a server that is away, or was too slow the last time. What fails is told, and
   * the list stays as it was. Rejects only when the signal fires.
   */
  async refresh(signal: AbortSignal): Promise<void> {
    if (!this.#stale || this.#session === undefined) return;
    this.#listing ??= this.#list(this.#session).finally(() => {
      this.#listing = undefined;
    });
    if (!this.#slow) await orAborted(this.#listing, signal);
  }

  /** Rejects with `ToolError` only. A session that the server has forgotten is begun anew once, since nothing was executed then. */
  async call({ ask, decode, signal, onProgress }: ConnectionCall): Promise<ToolResult> {
    const { timeoutMs: silenceMs = SILENCE_MS, maxTotalTimeoutMs: totalMs = TOTAL_MS } = this.#options;
    const clock = new CallClock(signal, { silenceMs, totalMs }, this.#settings.runtime);
    this.#questions.begin(clock);
    const call: SessionCall = {
      signal: clock.signal,
      onProgress: (progress) => {
        clock.touch();
        if (clock.givenUp === undefined) onProgress(progress);
      },
      onSign: () => clock.touch(),
    };
    try {
      const session = await orAborted(this.#ready(), clock.signal);
      const answer = await ask(session, call).catch(async (error: unknown) => {
        if (!isSessionGone(error) || clock.givenUp !== undefined) throw error;
        const renewed = await orAborted(this.#renewed(session), clock.signal);
        return ask(renewed, call);
      });
      this.#backOff.proved();
      return decode(answer);
    } catch (error) {
      throw callError(error, safeLabel(this.server), clock, this.#secrets);
    } finally {
      this.#questions.end(clock);
    }
  }

  /** Ends the session and its process, also one that is just being started. Idempotent. */
  async close(): Promise<void> {
    this.#closed.abort();
    this.#backOff.stop();
    const session = this.#session;
    this.#session = undefined;
    const ends = [session?.close(), this.#connecting, ...this.#leftovers].map(async (end) => end);
    const failed = (await Promise.allSettled(ends)).filter((end) => end.status === "rejected");
    await Promise.all(this.#leftovers);
    if (failed.length > 0) throw failed[0]?.reason;
  }

  async #ready(): Promise<McpSession> {
    if (this.#closed.signal.aborted) throw this.#down("is closed");
    const soon = this.#session === undefined && (this.#connecting !== undefined || this.#backOff.fresh);
    if (soon) await this.#connect();
    if (this.#session === undefined) throw this.#down("is not connected");
    return this.#session;
  }

  /** Nothing was asked: it is known that no tool ran. */
  #down(what: string): ToolError {
    return new ToolError("invocation-failed", `server "${safeLabel(this.server)}" ${what}`);
  }

  async #renewed(old: McpSession): Promise<McpSession> {
    if (this.#session === old) {
      this.#session = undefined;
      this.#leave(old.retire(this.#closed.signal));
    }
    await this.#connect();
    if (this.#session === undefined) throw this.#down("is not connected");
    return this.#session;
  }

  #connect(): Promise<void> {
    if (this.#session !== undefined || this.#closed.signal.aborted) return Promise.resolve();
    this.#backOff.stop();
    this.#connecting ??= this.#open().finally(() => {
      this.#connecting = undefined;
    });
    return this.#connecting;
  }

  async #open(): Promise<void> {
    const { runtime } = this.#settings;
    const { startTimeoutMs = START_MS } = this.#options;
    const clock = new CallClock(this.#closed.signal, { silenceMs: startTimeoutMs, totalMs: startTimeoutMs }, runtime);
    const transport = transportOf(this.#options, this.#settings, this.#secrets);
    const noises = new Noises((reason) => this.#listener.onEvent({ type: "noise", server: this.server, reason }));
    const session = new McpSession(
      { server: this.server, protocol: this.#options.protocol },
      transport,
      this.#settings,
      {
        onClosed: () => this.#lost(session, transport),
        onToolsChanged: () => this.#changed(session),
        onResourcesChanged: () => this.#listener.onEvent({ type: "resourcesChanged", server: this.server }),
        onNoise: (error) => {
          if (!this.#closed.signal.aborted) noises.add(error.message, reasonOf(error, this.#secrets));
        },
        onAsking: () => this.#questions.ask(),
      },
    );
    try {
      await session.open(clock.signal);
      clock.signal.throwIfAborted();
      noises.tell();
      this.#session = session;
      this.#backOff.up();
      // What changes from here on is news.
      this.#stale = false;
      const pages = await session.list(clock.signal);
      // It may have gone meanwhile, and has been told as lost then.
      if (this.#session !== session) return;
      this.#take(pages);
    } catch (error) {
      if (!this.#failureTold) noises.tell(reasonOf(error, this.#secrets));
      this.#failed(error, { session, transport, late: clock.givenUp === "too-long" });
    } finally {
      clock.end();
    }
  }

  /** A server that shook hands but cannot list is kept: it may be able to later. */
  #failed(error: unknown, what: { session: McpSession; transport: Transport; late: boolean }): void {
    if (this.#closed.signal.aborted) {
      this.#leave(what.session.close());
      return;
    }
    this.#tellFailure(this.#reason(error, what));
    if (this.#session === what.session && !what.late) {
      this.#stale = true;
      return;
    }
    if (this.#session === what.session) this.#session = undefined;
    this.#leave(what.session.close());
    if (!this.#backOff.waiting) this.#backOff.schedule(() => void this.#connect());
  }

  #reason(error: unknown, { transport, late }: { readonly transport: Transport; readonly late: boolean }): string {
    if (late) return "it took too long to start";
    const words = lastWords(transport, this.#secrets);
    return `${reasonOf(error, this.#secrets)}${words === "" ? "" : ` (stderr: ${words})`}`;
  }

  #lost(session: McpSession, transport: Transport): void {
    if (this.#session !== session || this.#closed.signal.aborted) return;
    this.#session = undefined;
    const words = lastWords(transport, this.#secrets);
    const reason = words === "" ? "the connection ended" : `the connection ended (stderr: ${words})`;
    const retryInMs = this.#backOff.schedule(() => void this.#connect());
    this.#state = "down";
    this.#listener.onEvent({ type: "lost", server: this.server, reason, retryInMs });
  }

  #changed(session: McpSession): void {
    if (this.#session !== session) return;
    this.#stale = true;
    this.#listener.onStale();
  }

  async #list(session: McpSession): Promise<void> {
    const { startTimeoutMs = START_MS } = this.#options;
    const limits = { silenceMs: startTimeoutMs, totalMs: startTimeoutMs };
    const clock = new CallClock(this.#closed.signal, limits, this.#settings.runtime);
    this.#stale = false;
    try {
      const pages = await session.list(clock.signal);
      if (this.#session === session) this.#take(pages);
    } catch (error) {
      if (this.#session !== session) return;
      this.#stale = true;
      this.#slow = clock.givenUp === "too-long";
      const reason = this.#slow ? "it took too long to list its tools" : reasonOf(error, this.#secrets);
      this.#tellFailure(reason);
    } finally {
      clock.end();
    }
  }

  #take(pages: ToolPages): void {
    this.#known = true;
    this.#slow = false;
    this.#listener.onListed(pages);
    const type = this.#state === "new" ? "connected" : "reconnected";
    const isNews = this.#state !== "up";
    this.#state = "up";
    this.#failureTold = false;
    if (isNews) this.#listener.onEvent({ type, server: this.server, tools: pages.tools.length });
  }

  /** Each attempt of an outage fails for itself; whoever listens is told of the first. */
  #tellFailure(reason: string): void {
    if (this.#state === "up") this.#state = "down";
    if (this.#failureTold) return;
    this.#failureTold = true;
    this.#listener.onEvent({ type: "failed", server: this.server, reason });
  }

  /** What still ends in the background; `close` waits for it. */
  #leave(end: Promise<void>): void {
    const quiet = end.catch(() => undefined).finally(() => this.#leftovers.delete(quiet));
    this.#leftovers.add(quiet);
  }
}
