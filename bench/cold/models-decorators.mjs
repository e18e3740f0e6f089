import { fallback, rateLimited, retrying, routed, timeouts } from "ennead/models/decorators";

/** A process that puts every decorator around a model. */
const inner = { chat() {}, describe: () => ({ provider: "none", model: "none" }) };
const model = routed(
  [],
  fallback([retrying(timeouts(rateLimited(inner, { requestsPerMinute: 1 }), { totalTimeoutMs: 1 }))]),
);
const { user, system } = process.cpuUsage();
console.log(JSON.stringify({ cpu: user + system, model: model.describe() }));
