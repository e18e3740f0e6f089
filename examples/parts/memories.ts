import { PostgresMemory } from "ennead/memory/postgres";

/** Stands in for a model of embeddings: texts about the same thing have the same vector. */
export function toyVector(text: string): readonly number[] {
  const topics = [/kitten|cat|pet/i, /meeting|monday|calendar/i];
  return [...topics.map((topic) => Number(topic.test(text))), 0.01];
}

// #region postgres
/** Tables in a schema of a server; words are stemmed, so that "teas" finds "tea". */
export const postgresMemory = (url: string) => new PostgresMemory({ url, schema: "agents", configuration: "english" });
// #endregion postgres
