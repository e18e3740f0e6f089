import { isJsonObject, type Json, type JsonObject } from "../../../domain/json.js";
import type { ProviderData } from "../../../domain/message.js";
import type { ReasoningDelta } from "../../../domain/stream-chunk.js";
import { REASONING_FIELDS } from "./openai-chat-content.js";
import { fieldOf, listField, textField } from "../wire/wire-json.js";

/** The field that goes without saying. */
const REASONING_FIELD = "reasoning_content";

/**
 * Reads the reasoning of a reply. What a server wants back beside the text is kept as provider data of the part: the field it came in
 * where that is not `reasoning_content`, and `reasoning_details` (signatures, ciphers) with the pieces of each put together.
 */
export class ReasoningReader {
  readonly #details: JsonObject[] = [];
  #field = REASONING_FIELD;

  /** The chunk for one piece of text, from the field it came in ("" for a part of the content). */
  text(text: string, field: string): ReasoningDelta {
    const isNew = field !== "" && field !== this.#field;
    if (isNew) this.#field = field;
    return { type: "reasoningDelta", text, part: 0, ...(isNew ? { providerData: this.#data() } : undefined) };
  }

  /** Takes the details of one delta or message. */
  details(source: unknown): void {
    for (const entry of listField(source, "reasoning_details")) {
      if (!isJsonObject(entry)) continue;
      const last = this.#details.at(-1);
      if (last !== undefined && continues(last, entry)) this.#details[this.#details.length - 1] = joined(last, entry);
      else this.#details.push(entry);
    }
  }

  /** The chunk that completes the reasoning, where there are details. */
  end(): ReasoningDelta | undefined {
    if (this.#details.length === 0) return undefined;
    return { type: "reasoningDelta", text: "", part: 0, providerData: this.#data() };
  }

  #data(): ProviderData {
    return { field: this.#field, ...(this.#details.length === 0 ? undefined : { details: this.#details }) };
  }
}

function continues(last: JsonObject, entry: JsonObject): boolean {
  return last["type"] === entry["type"] && last["index"] !== undefined && last["index"] === entry["index"];
}

const PIECES = ["text", "summary", "data", "signature"];

function joined(last: JsonObject, entry: JsonObject): JsonObject {
  const pieces = PIECES.flatMap((key): [string, Json][] => {
    const text = (textField(last, key) ?? "") + (textField(entry, key) ?? "");
    return text === "" ? [] : [[key, text]];
  });
  return { ...last, ...entry, ...Object.fromEntries(pieces) };
}

/** The fields in which a reply's reasoning goes back: its text, and the details a server gave with it. */
export function reasoningFields(
  text: string,
  data: readonly unknown[],
  { demanded }: { readonly demanded: boolean },
): Readonly<Record<string, unknown>> {
  // A stored name is not trusted: it must not replace another field of the message.
  const names = data.map((one) => textField(one, "field") ?? "");
  const field = names.find((name) => REASONING_FIELDS.includes(name)) ?? REASONING_FIELD;
  const details = data.flatMap((one) => fieldOf(one, "details") ?? []);
  return {
    ...(text === "" && !demanded ? undefined : { [field]: text }),
    ...(details.length === 0 ? undefined : { reasoning_details: details }),
  };
}
