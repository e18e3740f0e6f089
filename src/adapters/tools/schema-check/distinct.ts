import { type Json, jsonKey } from "../../../domain/json.js";

/** Characters of items that one step compares. */
const CHARACTERS_A_STEP = 32;

/** Whether no two items are the same JSON, in time that grows with the items: each is compared by one text for all that is the same. */
export function areDistinct(items: readonly Json[], spend: (steps: number) => void): boolean {
  const keys = new Set<string>();
  for (const item of items) {
    const key = jsonKey(item);
    spend(key.length / CHARACTERS_A_STEP);
    if (keys.has(key)) return false;
    keys.add(key);
  }
  return true;
}
