import { createAnthropic } from "@ai-sdk/anthropic";
import type { ModelPort } from "ennead";
import { AiSdkModel, type LanguageModelV4, toLanguageModel } from "ennead/models/ai-sdk";

/** A model of any AI SDK provider, for an agent. */
export const claude = new AiSdkModel({ model: createAnthropic({ apiKey: "..." })("claude-sonnet-4-5") });

/** A model of an agent, for `generateText` and `streamText`. */
export const forTheSdk = (model: ModelPort): LanguageModelV4 => toLanguageModel(model);
