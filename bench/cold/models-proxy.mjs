import { proxyHandler, proxyModel } from "ennead/models/proxy";

/** A process that makes a model ready for its first call, and the handler that answers it. */
const model = proxyModel({ proxyUrl: "http://127.0.0.1:9/model", model: "none" });
proxyHandler({ model, authorize: () => true });
const { user, system } = process.cpuUsage();
console.log(JSON.stringify({ cpu: user + system, model: model.describe() }));
