/** The JSON of the responses wire that tests put together; `null` stands where the provider sends it. */
export type Fields = { readonly [key: string]: unknown };

/** An output item of the wire, whole. */
export const item = {
  message: (text: string, fields: Fields = {}): Fields => ({
    type: "message",
    id: "msg_1",
    status: "completed",
    role: "assistant",
    content: [{ type: "output_text", text, annotations: [], logprobs: [] }],
    ...fields,
  }),
  refusal: (refusal: string, id = "msg_1"): Fields => item.message("", { id, content: [{ type: "refusal", refusal }] }),
  call: (callId: string, name: string, args: string, fields: Fields = {}): Fields => ({
    type: "function_call",
    id: `fc_${callId}`,
    call_id: callId,
    name,
    arguments: args,
    status: "completed",
    ...fields,
  }),
  reasoning: (cipher: string | null, summaries: readonly string[] = [], fields: Fields = {}): Fields => ({
    type: "reasoning",
    id: "rs_1",
    summary: summaries.map((text) => ({ type: "summary_text", text })),
    ...(cipher === null ? {} : { encrypted_content: cipher }),
    ...fields,
  }),
};

export const USAGE: Fields = {
  input_tokens: 100,
  input_tokens_details: { cached_tokens: 80, cache_write_tokens: 0 },
  output_tokens: 10,
  output_tokens_details: { reasoning_tokens: 6 },
  total_tokens: 110,
};

/** A whole response, as it answers a request without streaming. */
export function response(output: readonly Fields[], fields: Fields = {}): Fields {
  return {
    id: "resp_1",
    object: "response",
    created_at: 1_700_000_000,
    status: "completed",
    error: null,
    incomplete_details: null,
    instructions: null,
    metadata: {},
    model: "m1",
    output,
    parallel_tool_calls: true,
    temperature: 1,
    tool_choice: "auto",
    tools: [],
    top_p: 1,
    usage: USAGE,
    ...fields,
  };
}

/** One event as the wire frames it. */
export function frame(type: string, fields: Fields = {}): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
}

/** The events in which a provider streams the response, each text in pieces of two characters, and its end. */
export function events(whole: Fields): readonly string[] {
  const output = whole["output"] as readonly Fields[];
  const begun = { ...whole, status: "in_progress", output: [], usage: null };
  const list: [string, Fields][] = [
    ["response.created", { response: begun }],
    ["response.in_progress", { response: begun }],
    ...output.flatMap(itemEvents),
    [`response.${String(whole["status"])}`, { response: whole }],
  ];
  return list.map(([type, fields], n) => frame(type, { ...fields, sequence_number: n }));
}

/** The same as one body. */
export function streamOf(output: readonly Fields[], fields: Fields = {}): string {
  return events(response(output, fields)).join("");
}

function itemEvents(whole: Fields, output_index: number): [string, Fields][] {
  const at = { output_index, item_id: whole["id"] };
  const content = (whole["content"] ?? []) as readonly Fields[];
  const summary = (whole["summary"] ?? []) as readonly Fields[];
  const begun = {
    ...whole,
    ...(whole["status"] === undefined ? {} : { status: "in_progress" }),
    ...(whole["content"] === undefined ? {} : { content: [] }),
    ...(whole["summary"] === undefined ? {} : { summary: [] }),
    ...(whole["arguments"] === undefined ? {} : { arguments: "" }),
  };
  const args = whole["arguments"];
  return [
    ["response.output_item.added", { output_index, item: begun }],
    ...(typeof args === "string" ? textEvents("response.function_call_arguments", "arguments", args, at) : []),
    ...summary.flatMap((part, summary_index) => summaryEvents(part, { ...at, summary_index })),
    ...content.flatMap((part, content_index) => contentEvents(part, { ...at, content_index })),
    ["response.output_item.done", { output_index, item: whole }],
  ];
}

const CONTENT_STEMS: Readonly<Record<string, readonly [stem: string, field: string]>> = {
  output_text: ["response.output_text", "text"],
  refusal: ["response.refusal", "refusal"],
  reasoning_text: ["response.reasoning_text", "text"],
};

function contentEvents(part: Fields, at: Fields): [string, Fields][] {
  const [stem = "", field = ""] = CONTENT_STEMS[String(part["type"])] ?? [];
  return [
    ["response.content_part.added", { ...at, part: { ...part, [field]: "" } }],
    ...textEvents(stem, field, String(part[field]), { ...at, logprobs: [] }),
    ["response.content_part.done", { ...at, part }],
  ];
}

function summaryEvents(part: Fields, at: Fields): [string, Fields][] {
  return [
    ["response.reasoning_summary_part.added", { ...at, part: { ...part, text: "" } }],
    ...textEvents("response.reasoning_summary_text", "text", String(part["text"]), at),
    ["response.reasoning_summary_part.done", { ...at, part }],
  ];
}

function textEvents(stem: string, field: string, text: string, at: Fields): [string, Fields][] {
  const pieces = text.match(/[^]{1,2}/gu) ?? [];
  return [
    ...pieces.map((delta): [string, Fields] => [`${stem}.delta`, { ...at, delta }]),
    [`${stem}.done`, { ...at, [field]: text }],
  ];
}
