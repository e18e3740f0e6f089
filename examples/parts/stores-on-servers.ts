import type { Redis } from "ioredis";
import type { Pool } from "pg";
import { PostgresSessionStore } from "ennead/sessions/postgres";
import { RedisSessionStore } from "ennead/sessions/redis";

// #region postgres
/** Its own connections, closed with the store. */
export const postgresStore = (url: string) => new PostgresSessionStore({ url, schema: "agents", timeoutMs: 5_000 });

/** The application's pool, which stays the application's to close. */
export const pooledStore = (pool: Pool) => new PostgresSessionStore({ pool });
// #endregion postgres

// #region redis
/** Its own connection, closed with the store. */
export const redisStore = (url: string) => new RedisSessionStore({ url, prefix: "{agents}:", timeoutMs: 5_000 });

/** The application's client or cluster, which stays the application's to close. */
export const clientStore = (client: Redis) => new RedisSessionStore({ client });
// #endregion redis
