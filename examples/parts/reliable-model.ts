import { fallback, hasImages, rateLimited, retrying, routed, timeouts } from "ennead/models/decorators";
import { OpenAiChatModel } from "ennead/models/openai-chat";

const openai = new OpenAiChatModel({ model: "gpt-5.5", apiKey: () => process.env["OPENAI_API_KEY"] });
const local = new OpenAiChatModel({ model: "qwen3", baseUrl: "http://127.0.0.1:11434/v1" });
const seeing = new OpenAiChatModel({ model: "qwen3-vl", baseUrl: "http://127.0.0.1:11434/v1" });

/** Each attempt has its time limits; what still fails goes to the model next in line. */
const patient = retrying(timeouts(openai, { firstTokenTimeoutMs: 60_000, idleTimeoutMs: 30_000 }), {
  afterOutput: "reset",
});
const reliable = fallback([rateLimited(patient, { requestsPerMinute: 500, concurrency: 20 }), local]);

export const model = routed([{ when: hasImages, to: seeing }], reliable);
