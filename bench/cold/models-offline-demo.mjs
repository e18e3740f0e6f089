import { OfflineDemoModel } from "ennead/models/offline-demo";

/** A process that makes a model ready for its first call. */
const model = new OfflineDemoModel();
const { user, system } = process.cpuUsage();
console.log(JSON.stringify({ cpu: user + system, model: model.describe() }));
