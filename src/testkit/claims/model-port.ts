import { modelControlClaims } from "./model-control.js";
import type { ModelPortClaim } from "./model-fixture.js";
import { modelReplyClaims } from "./model-replies.js";
import { modelStreamClaims } from "./model-streams.js";
import { modelWireClaims } from "./model-wire.js";

export type {
  ModelPortCapability,
  ModelPortClaim,
  ModelPortFixture,
  ModelSamples,
  SampleRequest,
} from "./model-fixture.js";

/** What every model does, whoever answers: adapters, decorators and fakes alike. */
export const modelPortClaims: readonly ModelPortClaim[] = [
  ...modelReplyClaims,
  ...modelStreamClaims,
  ...modelControlClaims,
  ...modelWireClaims,
];
