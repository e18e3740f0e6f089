import type { ChatRequest } from "../../../ports/model.js";
import type { WireObject } from "./openai-parts.js";

/** How long the provider keeps a marked beginning at least. */
export type CacheLifetime = "30m" | "12h";

/** All lifetimes there are. */
export const CACHE_LIFETIMES: readonly CacheLifetime[] = ["30m", "12h"];

/** How an adapter asks OpenAI to keep what requests begin with. OpenAI also keeps it unasked. */
export type PromptCacheOptions = {
  /** The `prompt_cache_key` of a request, which brings requests that begin alike to the same cache. Default: none. */
  readonly promptCacheKey?: ((request: ChatRequest) => string | undefined) | undefined;
  /** Marks the end of the instructions and of the newest user message as explicit breakpoints, which models before gpt-5.6 refuse. Default: no. */
  readonly cache?: CacheLifetime | undefined;
};

/** The transcript with a breakpoint at the end of the instructions in front and of the newest user message. */
export function withBreakpoints(wire: readonly WireObject[], ttl: CacheLifetime | undefined): readonly WireObject[] {
  if (ttl === undefined) return wire;
  const first = wire.findIndex(({ role }) => role !== "system");
  const places = [(first === -1 ? wire.length : first) - 1, wire.findLastIndex(({ role }) => role === "user")];
  return wire.map((message, at) => (places.includes(at) ? withMark(message, { mode: "explicit", ttl }) : message));
}

function withMark(message: WireObject, prompt_cache_breakpoint: WireObject): WireObject {
  const { content } = message;
  const blocks: readonly unknown[] = Array.isArray(content) ? content : [{ type: "text", text: content }];
  const last = { ...(blocks.at(-1) as WireObject), prompt_cache_breakpoint };
  return { ...message, content: [...blocks.slice(0, -1), last] };
}
