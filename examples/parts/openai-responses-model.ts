import { OpenAiResponsesModel } from "ennead/models/openai-responses";

export const openai = new OpenAiResponsesModel({
  model: "gpt-5.6",
  apiKey: () => process.env["OPENAI_API_KEY"],
  reasoningSummary: "auto",
  promptCacheKey: ({ sessionId }) => sessionId,
});
