import { isJsonObject, type Json, type JsonObject } from "../../domain/json.js";
import type { StreamChunk } from "../../domain/stream-chunk.js";
import type { ToolProvider } from "../../ports/tool-provider.js";
import { RecordingError } from "./recording-error.js";

/** The version of the file format that this package writes. It reads that and older ones. */
export const RECORDING_VERSION = 1;

/** What a provider could do beside running tools, and what it says of itself. */
export type RecordedProvider = Pick<ToolProvider, "name" | "optional" | "trustAnnotations"> & {
  /** Pure functions it had, whose answers are recorded, and `onToolsChanged`. */
  readonly asks: readonly string[];
};

/** The first line. */
export type RecordingHead = {
  readonly type: "recording";
  readonly version: number;
  readonly model?: { readonly streaming: boolean; readonly description?: JsonObject | undefined } | undefined;
  readonly providers: readonly RecordedProvider[];
};

/** How a call ended, `ms` after it began; neither value nor error where it ran still when the recording was closed, or gave nothing. */
export type RecordedEnd = {
  readonly ms: number;
  readonly value?: Json | undefined;
  readonly error?: JsonObject | undefined;
  readonly open?: boolean | undefined;
};

/** A model call. `call` counts from 0 in the order in which calls began. Times are ms since the call began. */
export type RecordedModelLine = {
  readonly type: "model";
  readonly call: number;
  readonly round: number;
  readonly request: JsonObject;
  readonly chunks: readonly (readonly [ms: number, chunk: StreamChunk])[];
  readonly end: RecordedEnd;
};

/** A call of a tool. */
export type RecordedToolLine = {
  readonly type: "tool";
  readonly provider: number;
  readonly id: string;
  readonly name: string;
  readonly arguments: JsonObject;
  readonly progress: readonly (readonly [ms: number, partial: Json])[];
  readonly end: RecordedEnd;
};

/** A listing of a provider's tools. */
export type RecordedListLine = { readonly type: "list"; readonly provider: number; readonly end: RecordedEnd };

/** A provider said that its tools changed. */
export type RecordedChangeLine = { readonly type: "changed"; readonly provider: number; readonly end: RecordedEnd };

/** What a pure function of a provider answered; of `hooks` only for which tools there were any. */
export type RecordedAskLine = {
  readonly type: "ask";
  readonly provider: number;
  readonly method: string;
  readonly args: readonly Json[];
  readonly end: RecordedEnd;
};

export type RecordingLine =
  | RecordedModelLine
  | RecordedToolLine
  | RecordedListLine
  | RecordedChangeLine
  | RecordedAskLine;

/** The head as it stands in the first line. */
export function decodeHead(text: string): RecordingHead {
  const json = parsed(text, 1);
  const { type, version, model, providers } = json;
  if (type !== "recording" || typeof version !== "number") throw damaged(1, "this is no recording");
  if (version > RECORDING_VERSION) {
    const told = `it is of version ${version}, and this package reads up to ${RECORDING_VERSION}`;
    throw new RecordingError("version", told, { line: 1 });
  }
  if (!Array.isArray(providers) || !(providers as readonly Json[]).every(isProvider))
    throw damaged(1, "providers are no list of providers");
  if (model !== undefined && !isJsonObject(model)) throw damaged(1, "model is no object");
  return json as unknown as RecordingHead;
}

/** Any other line. */
export function decodeLine(text: string, line: number): RecordingLine {
  const json = parsed(text, line);
  const fault = faultOf(json);
  if (fault !== undefined) throw damaged(line, fault);
  return json as unknown as RecordingLine;
}

function isProvider(value: Json): boolean {
  return isJsonObject(value) && Array.isArray(value["asks"]);
}

function parsed(text: string, line: number): JsonObject {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (cause) {
    throw damaged(line, "is no JSON, or was cut", cause);
  }
  if (!isJsonObject(json)) throw damaged(line, "is no object");
  return json;
}

function faultOf({ type, ...fields }: JsonObject): string | undefined {
  if (!isJsonObject(fields["end"]) || typeof fields["end"]["ms"] !== "number") return "end is missing";
  if (type !== "model" && typeof fields["provider"] !== "number") return "provider is no number";
  switch (type) {
    case "model":
      if (typeof fields["call"] !== "number" || !isJsonObject(fields["request"])) return "request is missing";
      return isTimed(fields["chunks"], isJsonObject) ? undefined : "chunks are no list of times and chunks";
    case "tool":
      if (typeof fields["id"] !== "string" || typeof fields["name"] !== "string") return "the call has no id or name";
      if (!isJsonObject(fields["arguments"])) return "arguments are no object";
      return isTimed(fields["progress"], () => true) ? undefined : "progress is no list of times and values";
    case "list":
    case "changed":
      return undefined;
    case "ask":
      return typeof fields["method"] === "string" && Array.isArray(fields["args"])
        ? undefined
        : "method or args are missing";
    default:
      return "its type is unknown";
  }
}

function isTimed(value: Json | undefined, is: (value: Json) => boolean): boolean {
  if (!Array.isArray(value)) return false;
  return (value as readonly Json[]).every(
    (pair) => Array.isArray(pair) && pair.length === 2 && typeof pair[0] === "number" && is(pair[1] as Json),
  );
}

function damaged(line: number, what: string, cause?: unknown): RecordingError {
  return new RecordingError("damaged", `line ${line}: ${what}`, { line, cause });
}
