import { AnthropicModel } from "ennead/models/anthropic";

export const claude = new AnthropicModel({
  model: "claude-opus-4-8",
  apiKey: () => process.env["ANTHROPIC_API_KEY"],
});
