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
  const found = /claude-(?:[a-z]+-)*(\d{1,2})(?!\d)(?:[-.](\d{1,2})(?!\d))?/.exec(model);
  if (found === null && !model.includes("claude")) return FOREIGN;
  const [, major = Infinity, minor = 0] = found ?? [];
  const isSince = (wanted: number, part = 0): boolean =>
    Number(major) > wanted || (Number(major) === wanted && Number(minor) >= part);
  return {
    thinking: isSince(4, 6) ? "adaptive" : isSince(3, 7) ? "budget" : "none",
    canThinkNot: !/fable|mythos/.test(model) && !(/opus|sonnet/.test(model) && isSince(5, 5)),
    hasXhigh: isSince(4, 7),
    sampling: !isSince(4, 7),
    schemas: isSince(4, 5),
    prefill: !isSince(4, 6),
    maxTokens: isSince(4) ? 32_000 : isSince(3, 5) ? 8192 : 4096,
  };
}
