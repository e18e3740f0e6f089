import { isJsonObject, type Json, type JsonObject } from "../../../domain/json.js";
import type { Awaitable } from "../../../ports/awaitable.js";
import { schemaFault } from "./foreign-schema.js";
import { orAborted } from "./or-aborted.js";
import { schemaIssues } from "../schema-check/schema-check.js";

/** What a server asks of the user: fields to fill in, or an address to visit. Text and schema are the server's own: show who asks. */
export type ElicitationRequest = {
  readonly server: string;
  readonly message: string;
  /** Aborted when the server, its connection or the calls that ran when it asked no longer wait. */
  readonly signal: AbortSignal;
} & (
  | { readonly mode: "form"; readonly schema: JsonObject }
  | { readonly mode: "url"; readonly url: string; readonly elicitationId: string | undefined }
);

/** What the user said; `content` must fit the schema, else the server is told `cancel`. */
export type ElicitationAnswer =
  | { readonly action: "accept"; readonly content?: JsonObject | undefined }
  | { readonly action: "decline" | "cancel" };

/** Asks the user. A throw is a `cancel`. */
export type ElicitationHandler = (request: ElicitationRequest) => Awaitable<ElicitationAnswer>;

/** What goes back to the server. */
export type ElicitationReply = { action: "accept" | "decline" | "cancel"; content?: Fields };

type Fields = Record<string, string | number | boolean | string[]>;

/** Asks the application, and passes on nothing but an answer that fits. Never rejects. */
export async function askUser(
  params: JsonObject,
  from: { readonly server: string; readonly signal: AbortSignal },
  handler: ElicitationHandler | undefined,
): Promise<ElicitationReply> {
  const request = requestOf(params, from);
  if (handler === undefined || request === undefined) return { action: "decline" };
  try {
    // Whoever never answers holds nothing once nobody waits.
    const answer = await orAborted(Promise.resolve(handler(request)), from.signal);
    if (answer.action !== "accept") return { action: answer.action === "decline" ? "decline" : "cancel" };
    if (request.mode === "url") return { action: "accept" };
    const content = answer.content ?? {};
    if (!isFields(content) || schemaIssues(request.schema, content).length > 0) return { action: "cancel" };
    return { action: "accept", content };
  } catch {
    return { action: "cancel" };
  }
}

function requestOf(
  params: JsonObject,
  from: { readonly server: string; readonly signal: AbortSignal },
): ElicitationRequest | undefined {
  const { mode = "form", message, requestedSchema, url, elicitationId } = params;
  const common = { ...from, message: typeof message === "string" ? message : "" };
  if (mode === "form" && isJsonObject(requestedSchema) && schemaFault(requestedSchema) === undefined)
    return { ...common, mode, schema: requestedSchema };
  const address = mode === "url" && typeof url === "string" ? webAddress(url) : undefined;
  if (mode !== "url" || address === undefined) return undefined;
  return {
    ...common,
    mode,
    url: address,
    elicitationId: typeof elicitationId === "string" ? elicitationId : undefined,
  };
}

/** What the protocol lets a form hold. */
function isFields(content: JsonObject): content is JsonObject & Fields {
  return Object.values<Json>(content).every((value) =>
    Array.isArray(value) ? value.every((item) => typeof item === "string") : isScalar(value),
  );
}

function isScalar(value: Json): boolean {
  return ["string", "number", "boolean"].includes(typeof value);
}

/** Nobody is asked to open a file or a script. As it will be opened: what a server wrote may look like another. */
function webAddress(text: string): string | undefined {
  const url = URL.parse(text);
  return url !== null && ["https:", "http:"].includes(url.protocol) ? url.href : undefined;
}
