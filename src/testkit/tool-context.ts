import type { ToolContext } from "../ports/tool-provider.js";

/** A context to execute a tool outside an agent: nothing is aborted, memory finds nothing, progress goes nowhere. */
export function testToolContext(overrides: Partial<ToolContext> = {}): ToolContext {
  return {
    sessionId: "session-1",
    turnId: "turn-1",
    round: 1,
    callId: "call-1",
    requestedName: "tool",
    executionId: "turn-1.1.0",
    signal: new AbortController().signal,
    memory: {
      store: (entry) => Promise.resolve(entry.id ?? "memory-1"),
      search: () => Promise.resolve([]),
      delete: () => Promise.resolve(),
    },
    progress: () => undefined,
    ...overrides,
  };
}
