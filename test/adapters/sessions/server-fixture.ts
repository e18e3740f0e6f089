import type { StorePlace } from "../../support/store-place.js";
import { postgresFixture } from "./postgres-fixture.js";
import { redisFixture } from "./redis-fixture.js";

/** The fixture of a place on a server; what is stored there is removed at the end of the block. */
export function serverFixture({ kind, url, name }: StorePlace) {
  return kind === "postgres" ? postgresFixture(url, name) : redisFixture(url, `{${name}}:`);
}
