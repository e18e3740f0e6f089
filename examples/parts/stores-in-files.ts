import { JsonlSessionStore } from "ennead/sessions/jsonl";

// #region jsonl
/** One file a session; a write is acknowledged when the device has it. */
export const filesIn = (directory: string) => new JsonlSessionStore({ directory });

/** Faster, and safe from killed processes; a power failure may undo the last writes. */
export const quickFilesIn = (directory: string) => new JsonlSessionStore({ directory, fsync: "never" });
// #endregion jsonl
