export type { Capabilities, Claim, ClaimRun, Fixture } from "./claim.js";
export { ClaimFailure, expectEqual, expectRejection, expectThat } from "./expectations.js";
export { checkClaims, type ClaimReport, type ClaimResult, runClaims, type TestFunction } from "./run-claims.js";
export type { SessionStoreCapability, SessionStoreClaim, SessionStoreFixture } from "./session-fixture.js";
export { sessionStoreClaims } from "./session-store-claims.js";
