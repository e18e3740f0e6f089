import { streamModel } from "ennead/models/raw-stream";

/** A process that makes a model ready for its first call. */
const model = streamModel(() => [], { model: "none" });
const { user, system } = process.cpuUsage();
console.log(JSON.stringify({ cpu: user + system, model: model.describe() }));
