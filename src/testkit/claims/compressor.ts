import { compressorAnswerClaims } from "./compressor-answers.js";
import type { CompressorClaim } from "./compressor-fixture.js";
import { compressorProposalClaims } from "./compressor-proposals.js";

export type { CompressorCapability, CompressorClaim, CompressorFixture } from "./compressor-fixture.js";

/** What every compressor does, whatever it makes of a conversation. An agent checks what it can (C1); these hold without one. */
export const compressorClaims: readonly CompressorClaim[] = [...compressorAnswerClaims, ...compressorProposalClaims];
