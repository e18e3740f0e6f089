import type { Claim } from "./claim.js";
import type { ToolProviderCapability, ToolProviderFixture } from "./tool-provider-fixture.js";
import { toolExecutionClaims } from "./tool-execution.js";
import { toolListingClaims } from "./tool-listing.js";
import { toolQuestionClaims } from "./tool-questions.js";
import { toolValidationClaims } from "./tool-validation.js";

export type { SampleCall, ToolProviderCapability, ToolProviderFixture } from "./tool-provider-fixture.js";

/** What every source of tools does, whatever its tools do. */
export const toolProviderClaims: readonly Claim<ToolProviderFixture, ToolProviderCapability>[] = [
  ...toolListingClaims,
  ...toolExecutionClaims,
  ...toolValidationClaims,
  ...toolQuestionClaims,
];
