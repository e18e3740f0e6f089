import { CompositionError, Defect, errorCategory } from "../../domain/errors.js";
import type { Json, JsonObject } from "../../domain/json.js";
import { checkValues, having } from "../../domain/check-values.js";
import { checkFields } from "../../domain/known-fields.js";
import { isTimeLimit } from "../../domain/limits.js";
import type { MemoryEntry, MemoryEntryInput } from "../../domain/memory.js";
import { givenScope } from "../../domain/memory-scope.js";
import { type AgentMessage, isMessage, type Message, type MessageInput, textOf } from "../../domain/message.js";
import type { TurnResult } from "../../domain/turn-result.js";
import type { Awaitable } from "../../ports/awaitable.js";
import type { HookContext, PipelineHook } from "../../ports/hook.js";
import type { MemoryAccess } from "../../ports/memory.js";
import { bounded } from "./bounded.js";
import { defineHook } from "./define-hook.js";
import { type RecalledEntry, recalledText } from "./recalled-text.js";

/** What a scope and a query may be made of. */
export type RecallContext = Pick<HookContext, "sessionId" | "turnId" | "messages" | "newMessages" | "signal">;

/** Which entries are recalled for whom, and what is kept of a turn. */
export type RecallOptions = {
  /** The metadata that belongs to whom the turn is for: only entries that have it are recalled. `"shared"`: everybody's entries are everybody's. */
  readonly scope: "shared" | ((context: RecallContext) => Awaitable<JsonObject>);
  /** Default: the agent's own memories. */
  readonly memory?: MemoryAccess | undefined;
  /** What to look for; default the newest user message. An empty text, or nothing, recalls nothing. */
  readonly query?: ((context: RecallContext) => Awaitable<string | undefined>) | undefined;
  /** Default 5. */
  readonly topK?: number | undefined;
  /** Entries of a lower score are left out; default none. */
  readonly threshold?: number | undefined;
  /** Tokens, estimated, that the recalled entries may take in a request; default 1,000. */
  readonly maxTokens?: number | undefined;
  /** Milliseconds the search may take; default 3,000. A memory of the agent may take three quarters of it: one that hangs and is optional costs the rest nothing. */
  readonly timeoutMs?: number | undefined;
  /** A turn fails whose search fails. Default: it goes on without, and a `recall-failed` event tells of it. */
  readonly required?: true | undefined;
  /** What to keep of a turn that completed: texts, or entries. Asked once, when the answer is stored; a failure is reported and changes nothing. */
  readonly extract?:
    | ((
        result: TurnResult,
        context: { readonly sessionId: string; readonly signal: AbortSignal },
      ) => Awaitable<readonly (string | MemoryEntryInput)[]>)
    | undefined;
  /** Milliseconds that `extract` and the stores after it may hold up the end of a turn; default 10,000. */
  readonly extractTimeoutMs?: number | undefined;
  /** Default "recall". */
  readonly name?: string | undefined;
  readonly before?: readonly string[] | undefined;
  readonly after?: readonly string[] | undefined;
};

/**
 * Looks up once a turn what the memories hold about the user's message, and shows it to the model in every request of the turn, in front of that
 * message. It is in no session: neither stored nor shown again in the next turn. A `recalled` event names the entries and the memories they are from. What
 * was remembered is shown as data that cannot pose as anything else. Throws `CompositionError("invalid-config")` for options that cannot be.
 */
export function recall(options: RecallOptions): PipelineHook {
  checkOptions(options);
  const { name = "recall", before, after, extract } = options;
  const { timeoutMs = SEARCH_MS, extractTimeoutMs = EXTRACT_MS } = options;
  const shown = new WeakMap<AbortSignal, Promise<MessageInput | undefined>>();
  return defineHook(name, {
    before,
    after,
    // Its own bounds come first: a hook whose time is up ends the turn.
    timeoutMs: Math.max(timeoutMs, extractTimeoutMs) + GRACE_MS,
    async beforeModel(stage, context) {
      const recalled = shown.get(context.signal) ?? recalledFor(options, context);
      shown.set(context.signal, recalled);
      const message = await recalled;
      return message && context.next({ messages: placed(message, stage.messages, context) });
    },
    ...(extract && { afterTurn: ({ result }, context) => kept(options, result, context) }),
  });
}

const SEARCH_MS = 3_000;
const EXTRACT_MS = 10_000;
const GRACE_MS = 1_000;

async function recalledFor(options: RecallOptions, context: HookContext): Promise<MessageInput | undefined> {
  const { maxTokens = 1_000 } = options;
  try {
    const entries = await context.step("search", () => found(options, context));
    const recalled = recalledText(entries as readonly RecalledEntry[], maxTokens);
    if (recalled === undefined) return undefined;
    const told = recalled.told.map(({ content: _content, ...entry }) => entry);
    context.emit("recalled", { entries: told, leftOut: entries.length - told.length });
    return recalled.message;
  } catch (error) {
    if (options.required === true || Defect.is(error) || context.signal.aborted) throw error;
    context.emit("recall-failed", { errorCategory: errorCategory(error) });
    return undefined;
  }
}

async function found(options: RecallOptions, context: HookContext): Promise<RecalledEntry[]> {
  const { memory = context.memory, query = newestText, topK = 5, threshold, timeoutMs = SEARCH_MS } = options;
  return bounded(timeoutMs, context.signal, async () => {
    const filter = await scopeOf(options, context);
    const text = (await query(context)) ?? "";
    if (text === "") return [];
    const entries = await memory.search({ query: text, topK, threshold, filter }, { timeoutMs: timeoutMs * 0.75 });
    return entries.map(toldOf);
  });
}

function toldOf({ id, content, score, memory }: MemoryEntry): RecalledEntry {
  return { id, content, ...(score !== undefined && { score }), ...(memory !== undefined && { memory }) };
}

async function scopeOf({ scope }: RecallOptions, context: RecallContext): Promise<JsonObject> {
  if (scope === "shared") return {};
  const given = givenScope(await scope(context));
  if (given === undefined) throw new TypeError("the scope of the memory is not known");
  return given;
}

function newestText({ messages }: RecallContext): string {
  const newest = messages.findLast((message) => isMessage(message) && message.role === "user");
  return newest !== undefined && isMessage(newest) ? textOf(newest) : "";
}

/** In front of the message that began the turn, so that the requests of the turn begin alike; where that is no more, of the newest of a user. */
function placed(
  recalled: MessageInput,
  messages: readonly Message[],
  { newMessages }: HookContext,
): (Message | MessageInput)[] {
  const first: AgentMessage | undefined = newMessages.find(({ role }) => role === "user");
  const began = messages.findIndex(({ id }) => id === first?.id);
  const index = began >= 0 ? began : messages.findLastIndex(({ role }) => role === "user");
  const at = index >= 0 ? index : messages.length;
  return [...messages.slice(0, at), recalled, ...messages.slice(at)];
}

/** Ids follow from the turn, so that what is done again after a crash replaces what was stored before. */
async function kept(options: RecallOptions, result: TurnResult, context: HookContext): Promise<void> {
  const { extract, memory = context.memory, extractTimeoutMs = EXTRACT_MS } = options;
  if (extract === undefined || result.status !== "completed") return;
  const { sessionId } = context;
  await bounded(extractTimeoutMs, context.signal, async (signal) => {
    const given = await context.step("extract", async (): Promise<Json[]> => {
      const scope = await scopeOf(options, context);
      const entries = await extract(result, { sessionId, signal });
      return entries.map((entry, n) => entryOf(entry, `${result.turnId}.memory.${n}`, scope));
    });
    await context.step("store", async () => {
      for (const entry of given) {
        signal.throwIfAborted();
        await memory.store(entry as unknown as MemoryEntryInput);
      }
      return given.length;
    });
    context.emit("remembered", { count: given.length });
  });
}

function entryOf(entry: string | MemoryEntryInput, id: string, scope: JsonObject): JsonObject {
  const { content, metadata, ...own } = typeof entry === "string" ? { content: entry } : entry;
  return { id: "id" in own && own.id !== undefined ? own.id : id, content, metadata: { ...metadata, ...scope } };
}

const FIELDS = [
  "scope",
  "memory",
  "query",
  "topK",
  "threshold",
  "maxTokens",
  "timeoutMs",
  "required",
  "extract",
  "extractTimeoutMs",
];

function checkOptions(options: RecallOptions): void {
  checkFields("recall", options, [...FIELDS, "name", "before", "after"]);
  checkValues("recall", options, { memory: having("store", "search", "delete") });
  const { scope, query, topK = 5, threshold = 0, maxTokens = 1, required, extract } = options;
  const functions = [query, extract].every((fn) => fn === undefined || typeof fn === "function");
  const times = [options.timeoutMs, options.extractTimeoutMs].every(
    (ms) => ms === undefined || (isTimeLimit(ms) && ms < 2 ** 31),
  );
  const faults = [
    [
      scope !== "shared" && typeof scope !== "function",
      `scope is a function, or "shared" where all entries are everybody's`,
    ],
    [!functions, "query and extract are functions"],
    [!Number.isSafeInteger(topK) || topK < 1, "topK is a count of at least 1"],
    [typeof threshold !== "number" || Number.isNaN(threshold), "threshold is a number"],
    [typeof maxTokens !== "number" || !(maxTokens > 0), "maxTokens is a number above 0"],
    [!times, "timeoutMs and extractTimeoutMs are numbers of milliseconds"],
    [required !== undefined && required !== true, "required is true or absent"],
  ] as const;
  const fault = faults.find(([wrong]) => wrong);
  if (fault !== undefined) throw new CompositionError("invalid-config", `recall: ${fault[1]}`);
}
