import { Type } from "@sinclair/typebox";

/** A process that only has a schema: what the user's schema library costs without us. */
Type.Object({ name: Type.String() });
const { user, system } = process.cpuUsage();
console.log(JSON.stringify({ cpu: user + system }));
