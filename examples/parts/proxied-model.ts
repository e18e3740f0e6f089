import { GeminiModel } from "ennead/models/gemini";
import { proxyHandler, proxyModel } from "ennead/models/proxy";

/** On the server, behind any router that speaks web-standard requests: `(request: Request) => Promise<Response>`. */
export const handler = proxyHandler({
  model: new GeminiModel({ model: "gemini-3-flash-preview", apiKey: () => process.env["GEMINI_API_KEY"] }),
  authorize: (token) => token === process.env["SESSION_TOKEN"],
});

/** In the browser: a model like any other, without a key. */
export const model = proxyModel({
  proxyUrl: "https://app.example/api/model",
  authToken: async () => (await fetch("https://app.example/api/session-token")).text(),
});
