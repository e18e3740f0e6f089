/** What a server did that an application may want to tell somebody. `server` is its name in the options; no text of an event holds a secret of them. */
export type McpEvent =
  /** `tools` counts those that are offered. */
  | { readonly type: "connected"; readonly server: string; readonly tools: number }
  /** It is there again, after `lost` or `failed`, and its tools are known. */
  | { readonly type: "reconnected"; readonly server: string; readonly tools: number }
  /** It could not be started, reached or listed; what it offered before is still offered. Told once until it can be, however often it is tried. */
  | { readonly type: "failed"; readonly server: string; readonly reason: string }
  /** The connection is gone; `retryInMs` tells when it is tried again. */
  | { readonly type: "lost"; readonly server: string; readonly reason: string; readonly retryInMs: number }
  | { readonly type: "toolsChanged"; readonly server: string; readonly tools: number }
  /** The server lists other resources than before; only with `resources`. Who lists them gets them anew in any case. */
  | { readonly type: "resourcesChanged"; readonly server: string }
  /** A tool that is not offered, and why: an illegal schema, a name listed twice, a definition that drifted. */
  | { readonly type: "toolRefused"; readonly server: string; readonly tool: string; readonly reason: string }
  /** A definition is another than the one that was approved, or is not among the `approved`. Told once for each change. `name` is what the model calls it; `approve(name)` accepts it. */
  | {
      readonly type: "toolDrifted";
      readonly server: string;
      readonly tool: string;
      readonly name: string;
      readonly change: "changed" | "added";
      readonly refused: boolean;
    }
  /** Lines on stdout that are no messages, answers too large, streams that broke off. Told once for each text and connection. */
  | { readonly type: "noise"; readonly server: string; readonly reason: string };

/** Hears of what servers do. What it throws is ignored: a listener cannot break a connection. */
export type McpListener = (event: McpEvent) => void;
