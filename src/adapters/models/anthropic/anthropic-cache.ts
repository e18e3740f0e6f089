import type { JsonObject } from "../../../domain/json.js";
import type { WireBlock } from "./anthropic-content.js";
import type { WireTool } from "./anthropic-tools.js";
import type { WireMessage } from "./anthropic-transcript.js";

/** How long the provider keeps the beginning of a request; writing to the cache costs more than plain input, reading far less. */
export type CacheTime = "off" | "5m" | "1h";

/** The parts of a request that the provider can keep, in its own order. */
export type Cacheable = {
  readonly tools?: readonly (WireTool | JsonObject)[] | undefined;
  readonly system: readonly WireBlock[];
  readonly messages: readonly WireMessage[];
};

/**
 * Marks what is to be kept, four places at most: the tools, the system prompt, and the last two messages of the user, so that a
 * conversation finds what the request before it wrote however much came since.
 */
export function withBreakpoints(parts: Cacheable, time: CacheTime): Cacheable {
  if (time === "off") return parts;
  const mark: JsonObject = time === "5m" ? { type: "ephemeral" } : { type: "ephemeral", ttl: time };
  const places = parts.messages.flatMap(({ role }, at) => (role === "user" ? [at] : [])).slice(-2);
  return {
    ...(parts.tools === undefined ? undefined : { tools: marked(parts.tools, mark) }),
    system: marked(parts.system, mark),
    messages: parts.messages.map((message, at) =>
      places.includes(at) ? { ...message, content: marked(message.content, mark) } : message,
    ),
  };
}

function marked<T extends object>(list: readonly T[], mark: JsonObject): readonly T[] {
  const last = list.at(-1);
  return last === undefined ? list : [...list.slice(0, -1), { ...last, cache_control: mark }];
}
