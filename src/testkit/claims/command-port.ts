import { commandInvocationClaims } from "./command-invocation.js";
import { commandListingClaims } from "./command-listing.js";
import type { CommandPortClaim } from "./command-fixture.js";

export type {
  CommandPortCapability,
  CommandPortClaim,
  CommandPortFixture,
  SampleInvocation,
} from "./command-fixture.js";

/** What every source of commands does, whatever its commands do. */
export const commandPortClaims: readonly CommandPortClaim[] = [...commandListingClaims, ...commandInvocationClaims];
