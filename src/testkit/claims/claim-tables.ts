import type { Claim, Fixture } from "./claim.js";
import { commandPortClaims } from "./command-port.js";
import { compressorClaims } from "./compressor.js";
import { lifecycleClaims } from "./lifecycle.js";
import { memoryPortClaims } from "./memory-port.js";
import { modelPortClaims } from "./model-port.js";
import { observerClaims } from "./observer.js";
import { pipelineHookClaims } from "./pipeline-hook.js";
import { sessionStoreClaims } from "./session-store-claims.js";
import { toolProviderClaims } from "./tool-provider.js";

/** A table of claims; `subject` is the member of its fixtures that is the adapter, `method` one that every such adapter has. */
export type ClaimTable = {
  readonly claims: readonly Claim<Fixture, string>[];
  readonly subject: string;
  readonly method: string;
};

/** Every table, by the name of its port. */
export const claimTables = {
  modelPort: { claims: modelPortClaims, subject: "model", method: "chat" },
  toolProvider: { claims: toolProviderClaims, subject: "provider", method: "execute" },
  sessionStore: { claims: sessionStoreClaims, subject: "store", method: "load" },
  observer: { claims: observerClaims, subject: "observer", method: "onEvent" },
  compressor: { claims: compressorClaims, subject: "compressor", method: "compress" },
  pipelineHook: { claims: pipelineHookClaims, subject: "hook", method: "onStage" },
  memoryPort: { claims: memoryPortClaims, subject: "memory", method: "search" },
  lifecycle: { claims: lifecycleClaims, subject: "lifecycle", method: "onShutdown" },
  commandPort: { claims: commandPortClaims, subject: "commands", method: "invoke" },
} as const satisfies Readonly<Record<string, ClaimTable>>;
