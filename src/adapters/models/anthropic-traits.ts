/** What a model of this provider takes; everything else is refused with status 400. */
export type ModelTraits = {
  /** Reasoning: as much as an effort says, up to a number of tokens, or not at all. */
  readonly thinking: "adaptive" | "budget" | "none";
  readonly canThinkNot: boolean;
  readonly hasXhigh: boolean;
  readonly sampling: boolean;
  readonly schemas: boolean;
  /** Whether a request may end with the beginning of the reply. */
  readonly prefill: boolean;
  /** The `max_tokens` of a request that names none: the wire demands one. */
  readonly maxTokens: number;
};

/** Servers of others that speak the wire; they pass over what they do not know. */
const FOREIGN: ModelTraits = {
  thinking: "budget",
  canThinkNot: true,
  hasXhigh: true,
  sampling: true,
  schemas: true,
  prefill: true,
  maxTokens: 8192,
};

/**
 * The traits of a model, from its name in any of the forms in use (`claude-opus-4-6`, `anthropic/claude-sonnet-4.5`,
 * `us.anthropic.claude-haiku-4-5-20251001-v1:0`). A name without a version counts as one of the newest.
 */
export function traitsOf(model: string): ModelTraits {
  const found = /claude-(?:[a-z]+-)*(\d)(?:[-.](\d)(?!\d))?/.exec(model);
  if (found === null && !model.includes("claude")) return FOREIGN;
  const version = found === null ? Infinity : Number(found[1]) + Number(found[2] ?? 0) / 10;
  return {
    thinking: thinkingSince(version),
    canThinkNot: !/fable|mythos/.test(model) && !(/opus|sonnet/.test(model) && version >= 5.5),
    hasXhigh: version >= 4.7,
    sampling: version < 4.7,
    schemas: version >= 4.5,
    prefill: version < 4.6,
    maxTokens: maxTokensSince(version),
  };
}

function thinkingSince(version: number): ModelTraits["thinking"] {
  if (version >= 4.6) return "adaptive";
  return version >= 3.7 ? "budget" : "none";
}

function maxTokensSince(version: number): number {
  if (version >= 4) return 32_000;
  return version >= 3.5 ? 8192 : 4096;
}
