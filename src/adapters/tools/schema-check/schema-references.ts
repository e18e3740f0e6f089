import { isJsonObject, type JsonObject } from "../../../domain/json.js";
import { referredTo } from "../../../domain/json-schema.js";
import { safeLabel } from "../../../domain/safe-label.js";
import { own, partsOf, type PlacedSchema, REFERENCES, SchemaFault } from "./schema-document.js";

/**
 * Throws a `SchemaFault` where a schema refers to what is not in its document, where it cannot be told what it refers to, or where it asks itself about
 * the same value again.
 */
export function checkReferences(root: JsonObject, placed: readonly PlacedSchema[]): void {
  checkNames(placed);
  const places = new Map(placed.map(({ schema, place }) => [schema, place]));
  const walk: Walk = { places, open: new Set(), ended: new Set() };
  for (const one of placed) {
    for (const keyword of REFERENCES) checkLead(root, one, keyword);
    checkEnd(root, one, walk);
  }
}

/** Which of two dynamic anchors is meant depends on the way there, and two plain ones are one too many. */
function checkNames(placed: readonly PlacedSchema[]): void {
  const named = new Map<string, JsonObject>();
  for (const { schema, place } of placed) {
    for (const keyword of ["$anchor", "$dynamicAnchor"]) {
      const name = own(schema, keyword);
      if (typeof name !== "string") continue;
      if ((named.get(name) ?? schema) !== schema)
        throw new SchemaFault(`${place}/${keyword}`, `is ${safeLabel(name)}, as another place is called`);
      named.set(name, schema);
    }
  }
}

function checkLead(root: JsonObject, { schema, place }: PlacedSchema, keyword: (typeof REFERENCES)[number]): void {
  const reference = own(schema, keyword);
  if (reference === undefined || isSchema(targetOf(root, reference))) return;
  const isLocal = typeof reference === "string" && reference.startsWith("#");
  const what = isLocal ? "does not lead anywhere" : "is not in the document, and nothing is fetched";
  const label = typeof reference === "string" ? safeLabel(reference) : `a ${typeof reference}`;
  throw new SchemaFault(`${place}/${keyword}`, `refers to ${label}, which ${what}`);
}

/** `open` are the schemas on the way here. */
type Walk = {
  readonly places: ReadonlyMap<JsonObject, string>;
  readonly open: Set<JsonObject>;
  readonly ended: Set<JsonObject>;
};

/** Follows all that judges the same value. */
function checkEnd(root: JsonObject, placed: PlacedSchema, walk: Walk): void {
  const { schema, place } = placed;
  if (walk.open.has(schema)) throw new SchemaFault(place, "asks itself about the same value again, without end");
  if (walk.ended.has(schema)) return;
  walk.open.add(schema);
  for (const part of partsOf(placed)) if (part.inPlace) checkEnd(root, part, walk);
  for (const keyword of REFERENCES) {
    const target = targetOf(root, own(schema, keyword));
    if (!isJsonObject(target)) continue;
    checkEnd(root, { schema: target, place: walk.places.get(target) ?? `${place}/${keyword}` }, walk);
  }
  walk.open.delete(schema);
  walk.ended.add(schema);
}

function targetOf(root: JsonObject, reference: unknown): unknown {
  return typeof reference === "string" ? referredTo(root, reference) : undefined;
}

function isSchema(value: unknown): boolean {
  return typeof value === "boolean" || isJsonObject(value);
}
