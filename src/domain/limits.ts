/** Bounds of a turn. Times are milliseconds. */
export type Limits = {
  /** Batches of tools a turn may run; the model is asked at most once more (L1). */
  readonly maxToolRounds: number;
  readonly maxParallelTools: number;
  /** Model calls of one round, retries by hooks included; what a turn mends by itself comes on top (C3). */
  readonly maxModelAttempts: number;
  /** Bytes of text of one tool result in UTF-8; more is cut at a code point with a note (U3). */
  readonly maxToolResultBytes: number;
  readonly hookTimeoutMs: number;
  /** One answer of a compressor, which may ask a model (C1). */
  readonly compressTimeoutMs: number;
  readonly listenerTimeoutMs: number;
  /** One call of a store, and one listing of a provider's tools outside a turn. */
  readonly storeTimeoutMs: number;
  /** How long a lease holds without a heartbeat (S2). */
  readonly turnLeaseMs: number;
  /** Sessions kept ready between turns (S1). */
  readonly sessionCache: number;
  /** How long `shutdown` lets turns finish. */
  readonly drainMs: number;
  /** Of one turn, sub-agents not included; a resumed turn counts what the one it continues is known to have used (L2). */
  readonly maxModelCalls: number;
  /** Tool calls of one turn that may start; counted like model calls. */
  readonly maxToolCalls: number;
  /** Tokens of one turn, reserved before each model call; counted like model calls. */
  readonly maxTotalTokens: number;
  /** From the start of the turn, waiting for its session included. */
  readonly turnTimeoutMs: number;
  /** Messages of `TurnResult.messages`, input included; one beyond is refused (L2). */
  readonly maxOutputMessages: number;
  /** Bytes of these messages as JSON in UTF-8. */
  readonly maxOutputBytes: number;
};

/** Rounds of tools after which `onToolRoundLimit` says what happens, unless `maxToolRounds` says otherwise. */
export const DEFAULT_MAX_TOOL_ROUNDS = 32;

/** What holds where a configuration names no limit; frozen. */
export const DEFAULT_LIMITS: Limits = Object.freeze({
  maxToolRounds: DEFAULT_MAX_TOOL_ROUNDS,
  maxParallelTools: 16,
  maxModelAttempts: 3,
  maxToolResultBytes: 256 * 1024,
  hookTimeoutMs: 10_000,
  compressTimeoutMs: 120_000,
  listenerTimeoutMs: 5_000,
  storeTimeoutMs: 30_000,
  turnLeaseMs: 60_000,
  sessionCache: 100,
  drainMs: 5_000,
  maxModelCalls: Number.POSITIVE_INFINITY,
  maxToolCalls: Number.POSITIVE_INFINITY,
  maxTotalTokens: Number.POSITIVE_INFINITY,
  turnTimeoutMs: Number.POSITIVE_INFINITY,
  maxOutputMessages: Number.POSITIVE_INFINITY,
  maxOutputBytes: Number.POSITIVE_INFINITY,
});

/** True for a number of milliseconds above 0. */
export function isTimeLimit(value: unknown): value is number {
  return typeof value === "number" && value > 0;
}
