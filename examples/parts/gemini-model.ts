import { GeminiModel } from "ennead/models/gemini";

export const gemini = new GeminiModel({
  model: "gemini-3-flash-preview",
  apiKey: () => process.env["GEMINI_API_KEY"],
});
