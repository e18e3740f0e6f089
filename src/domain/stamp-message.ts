import { adopt, adoptOwn, isAdopted } from "./adopt.js";
import { toContent } from "./content.js";
import { isJsonObject } from "./json.js";
import type { AgentMessage, MessageInput } from "./message.js";

const ROLES: ReadonlySet<unknown> = new Set(["system", "user", "assistant", "tool"]);

/**
 * The stored form of a message: content as parts, `id` and `at` set unless it has them, frozen. A message that is stored already is
 * returned as it is. Throws a TypeError naming `place` for a value that is no message. Custom messages keep their own shape.
 */
export function stampMessage(input: AgentMessage | MessageInput, id: string, at: number, place: string): AgentMessage {
  if (!isJsonObject(input)) throw new TypeError(`${place} is no message`);
  const stamped = "id" in input && "at" in input && input.id !== undefined && input.at !== undefined;
  if (stamped && isAdopted(input)) return input;
  const message: Record<string, unknown> = { ...input };
  checkShape(message, place);
  if (!stamped) {
    message["id"] = id;
    message["at"] = at;
  }
  // A body that was adopted before and needed no change is shared, not copied again.
  const shared = isAdopted(input) && message["content"] === Reflect.get(input, "content");
  return (shared ? adoptOwn(message) : adopt(message, place)) as unknown as AgentMessage;
}

function checkShape(message: Record<string, unknown>, place: string): void {
  const role = message["role"];
  if (typeof role !== "string") throw new TypeError(`${place} has no role`);
  if (!ROLES.has(role)) return;
  const field = role === "assistant" ? "parts" : "content";
  const body = message[field];
  if (typeof body === "string" && field === "content") message[field] = toContent(body);
  else if (!Array.isArray(body) || !body.every(isPart)) throw new TypeError(`${place}.${field} is no list of parts`);
}

function isPart(part: unknown): boolean {
  return (
    isJsonObject(part) &&
    typeof part["type"] === "string" &&
    (part["type"] !== "text" || typeof part["text"] === "string")
  );
}
