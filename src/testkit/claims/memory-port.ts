import type { MemoryPortClaim } from "./memory-fixture.js";
import { memoryQueryClaims } from "./memory-query-claims.js";
import { memorySearchClaims } from "./memory-search-claims.js";
import { memoryStoreClaims } from "./memory-store-claims.js";

export type { MemoryPortCapability, MemoryPortClaim, MemoryPortFixture } from "./memory-fixture.js";

/** What every `MemoryPort` does. The fixture's memory is empty; nobody else may use it meanwhile. */
export const memoryPortClaims: readonly MemoryPortClaim[] = [
  ...memoryStoreClaims,
  ...memorySearchClaims,
  ...memoryQueryClaims,
];
