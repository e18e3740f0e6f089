import { PGlite } from "@electric-sql/pglite";
import { vector } from "@electric-sql/pglite-pgvector";
import { PGLiteSocketServer } from "@electric-sql/pglite-socket";

/** A PostgreSQL in WASM that has the extension `vector`, for a process of its own: `node pglite.mjs <folder> <port>`. */
const [folder, port] = process.argv.slice(2);
const db = await PGlite.create(folder, { extensions: { vector } });
await new PGLiteSocketServer({ db, port: Number(port), maxConnections: 100 }).start();
