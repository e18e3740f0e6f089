import { AiSdkModel } from "ennead/models/ai-sdk";

/** A process that makes a model ready for its first call, of one of the AI SDK that costs nothing to load. */
const inner = {
  specificationVersion: "v4",
  provider: "none",
  modelId: "none",
  supportedUrls: {},
  doGenerate() {},
  doStream() {},
};
const model = new AiSdkModel({ model: inner });
const { user, system } = process.cpuUsage();
console.log(JSON.stringify({ cpu: user + system, model: model.describe() }));
