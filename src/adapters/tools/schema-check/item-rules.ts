import type { Json, JsonObject } from "../../../domain/json.js";
import { itemSchema } from "../../../domain/json-schema.js";
import { areDistinct } from "./distinct.js";
import { sizeFaults } from "./scalar-faults.js";
import type { Check, Visit } from "./visit.js";

/** What the keywords say of the items of a list. */
export function itemRules(schema: JsonObject, visit: Visit, check: Check): void {
  const items = visit.value as readonly Json[];
  for (const fault of sizeFaults(schema, items.length, "Items")) visit.say(fault);
  for (const [index, item] of items.entries()) {
    if (visit.isFull || check.reading.exhausted) return;
    const part = itemSchema(schema, index);
    if (part === undefined) break;
    visit.seen?.add(index);
    visit.inside(check, part, index, item);
  }
  if (schema["uniqueItems"] === true && !areDistinct(items, (steps) => check.reading.spend(steps)))
    visit.say("items that differ");
  if (schema["contains"] !== undefined) containsRule(schema, visit, check);
}

function containsRule({ contains, minContains = 1, maxContains }: JsonObject, visit: Visit, check: Check): void {
  let count = 0;
  for (const [index, item] of (visit.value as readonly Json[]).entries()) {
    if (check.reading.exhausted) return;
    if (!check.fits(contains, item, visit.depth + 1)) continue;
    visit.seen?.add(index);
    count += 1;
  }
  const wrong = count < Number(minContains) || (typeof maxContains === "number" && count > maxContains);
  if (wrong) visit.say("another number of items of the wanted kind");
}
