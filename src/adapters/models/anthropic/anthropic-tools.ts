import type { JsonObject } from "../../../domain/json.js";
import type { ToolChoice } from "../../../domain/model.js";
import type { ToolDef } from "../../../domain/tool.js";
import type { ChatRequest } from "../../../ports/model.js";
import { sentChoice } from "../wire/sent-choice.js";
import type { WireMessage } from "./anthropic-transcript.js";
import { withoutUnionOnTop } from "../wire/union-on-top.js";
import type { WireNames } from "../wire/wire-names.js";
import { sendableTools } from "../wire/wire-schema.js";

/** A tool as JSON of the messages wire. */
export type WireTool = { readonly name: string; readonly description?: string; readonly input_schema: JsonObject };

/** The fields of a request that tell of tools; none where there are no tools and no calls. */
export type ToolFields = { readonly tools?: readonly WireTool[]; readonly tool_choice?: JsonObject };

/** The tools in the order in which they are sent; of several with one name the first counts. */
export function offeredTools(tools: readonly ToolDef[]): readonly (ToolDef & { readonly inputSchema: JsonObject })[] {
  const seen = new Set<string>();
  return sendableTools(tools).filter(({ name }) => !seen.has(name) && seen.add(name));
}

/** The tools of a request and which of them must be called. A conversation with calls needs tools, even where none are offered any more. */
export function toolFields(request: ChatRequest, names: WireNames, messages: readonly WireMessage[]): ToolFields {
  const offered = offeredTools(request.tools);
  if (offered.length === 0) {
    const tools = goneTools(messages);
    return tools.length === 0 ? {} : { tools, tool_choice: { type: "none" } };
  }
  const tools = offered.map(({ name, description, inputSchema }) => ({
    name: names.toWire(name),
    ...(isTold(description) ? { description } : undefined),
    input_schema: withoutUnionOnTop(inputSchema),
  }));
  const choice = encodeChoice(request, sentChoice(request.options.toolChoice, offered), names);
  return choice === undefined ? { tools } : { tools, tool_choice: choice };
}

/** Providers of tools are bound by types, and not everybody's are. */
function isTold(description: unknown): description is string {
  return typeof description === "string" && description.trim() !== "";
}

/** True where the choice leaves the model no answer without a call. */
export function forcesCall({ tool_choice }: ToolFields): boolean {
  return tool_choice?.["type"] === "any" || tool_choice?.["type"] === "tool";
}

function encodeChoice(
  { options }: ChatRequest,
  sendable: ToolChoice | undefined,
  names: WireNames,
): JsonObject | undefined {
  const choice = wireChoice(sendable, names);
  if (options.parallelToolCalls !== false || choice?.["type"] === "none") return choice;
  return { type: "auto", ...choice, disable_parallel_tool_use: true };
}

function wireChoice(choice: ToolChoice | undefined, names: WireNames): JsonObject | undefined {
  if (choice === undefined || choice === "auto" || choice === "none") return choice && { type: choice };
  if (choice === "required") return { type: "any" };
  return { type: "tool", name: names.toWire(choice.tool) };
}

/** Stand-ins for the tools that were called earlier. */
function goneTools(messages: readonly WireMessage[]): readonly WireTool[] {
  const names = new Set(
    messages.flatMap(({ content }) =>
      content.flatMap((block) => (block.type === "tool_use" ? [String(block["name"])] : [])),
    ),
  );
  const description = "No longer available.";
  return [...names].map((name) => ({ name, description, input_schema: { type: "object", properties: {} } }));
}
