import { AnthropicModel } from "ennead/models/anthropic";

/** A process that makes a model ready for its first call. */
const model = new AnthropicModel({ model: "none", apiKey: "none", baseUrl: "http://127.0.0.1:9/v1" });
const { user, system } = process.cpuUsage();
console.log(JSON.stringify({ cpu: user + system, model: model.describe() }));
