import { OpenAiChatModel } from "ennead/models/openai-chat";

/** A process that makes a model ready for its first call. */
const model = new OpenAiChatModel({ model: "none", apiKey: "none", baseUrl: "http://127.0.0.1:9/v1" });
const { user, system } = process.cpuUsage();
console.log(JSON.stringify({ cpu: user + system, model: model.describe() }));
