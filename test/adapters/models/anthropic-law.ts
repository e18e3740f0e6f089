import { isJsonObject } from "../../../src/domain/json.js";

type Fields = { readonly [key: string]: unknown };
type Message = { readonly role: string; readonly content: readonly Fields[] };

const USER = ["text", "image", "document", "tool_result"];
const ASSISTANT = ["text", "thinking", "redacted_thinking", "tool_use", "server_tool_use", "web_search_tool_result"];
const NAME = /^[a-zA-Z0-9_-]{1,64}$/;

/** Every reason for which the provider would refuse a request; empty for a legal one. */
export function refusals(body: unknown): readonly string[] {
  if (!isJsonObject(body)) return ["no object"];
  const messages = body["messages"] as unknown as readonly Message[];
  return [
    ...orderRefusals(messages),
    ...messages.flatMap(({ role, content }, at) => content.flatMap((block) => blockRefusals(block, role, at))),
    ...pairRefusals(messages),
    ...toolRefusals(body, messages),
    ...optionRefusals(body),
    ...thinkingRefusals(body, messages),
    ...cacheRefusals(body),
    ...((body["system"] ?? []) as readonly Fields[]).flatMap((block) => textRefusals(block, "system")),
    ...(JSON.stringify(body).isWellFormed() ? [] : ["a lone surrogate"]),
  ];
}

function orderRefusals(messages: readonly Message[]): readonly string[] {
  const found: string[] = [];
  if (messages.length === 0) found.push("no message");
  if (messages[0]?.role !== "user") found.push("the first message is not the user's");
  messages.forEach(({ role, content }, at) => {
    if (role !== "user" && role !== "assistant") found.push(`${at}: role ${role}`);
    if (at > 0 && messages[at - 1]?.role === role) found.push(`${at}: two messages of ${role}`);
    if (content.length === 0) found.push(`${at}: empty`);
    const last = content.at(-1);
    if (role === "assistant" && String(last?.["type"]).endsWith("thinking")) found.push(`${at}: ends with thinking`);
  });
  const last = messages.at(-1);
  const text = last?.content.at(-1)?.["text"];
  if (last?.role === "assistant" && typeof text === "string" && text !== text.trimEnd()) found.push("blank at the end");
  return found;
}

function textRefusals(block: Fields, place: string | number): readonly string[] {
  const { text } = block;
  return typeof text === "string" && text.trim() !== "" ? [] : [`${place}: blank text`];
}

function blockRefusals(block: Fields, role: string, at: number): readonly string[] {
  const type = String(block["type"]);
  if (!(role === "user" ? USER : ASSISTANT).includes(type)) return [`${at}: ${type} of ${role}`];
  switch (type) {
    case "text":
      return [...textRefusals(block, at), ...citationRefusals(block["citations"], role, at)];
    case "thinking":
      return isText(block["signature"]) && typeof block["thinking"] === "string" ? [] : [`${at}: unsigned thinking`];
    case "redacted_thinking":
      return isText(block["data"]) ? [] : [`${at}: empty redacted thinking`];
    case "tool_use":
      return NAME.test(String(block["name"])) && isJsonObject(block["input"]) ? [] : [`${at}: bad tool_use`];
    case "image":
    case "document":
      return sourceRefusals(block["source"], type, at);
    case "tool_result":
      return resultRefusals(block, at);
    default:
      return [];
  }
}

function citationRefusals(citations: unknown, role: string, at: number): readonly string[] {
  if (citations === undefined) return [];
  const are =
    Array.isArray(citations) && citations.length > 0 && citations.every((one) => isText((one as Fields)["type"]));
  return are && role === "assistant" ? [] : [`${at}: citations`];
}

function isText(value: unknown): boolean {
  return typeof value === "string" && value !== "";
}

const IMAGES = ["image/jpeg", "image/png", "image/gif", "image/webp"];
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})$/;

function sourceRefusals(source: unknown, type: string, at: number): readonly string[] {
  const { type: kind, media_type: media, data, url } = source as { readonly [key: string]: string };
  if (kind === "url") return /^https?:/i.test(url ?? "") ? [] : [`${at}: address ${url}`];
  const types = kind === "text" ? ["text/plain"] : type === "image" ? IMAGES : ["application/pdf"];
  if (!types.includes(media ?? "")) return [`${at}: media type ${media}`];
  return (kind === "text" ? data?.trim() !== "" : BASE64.test(data ?? "")) ? [] : [`${at}: data of ${type}`];
}

function resultRefusals(block: Fields, at: number): readonly string[] {
  const content = block["content"] as readonly Fields[] | undefined;
  const isError = block["is_error"] === true;
  if (content === undefined) return isError ? [`${at}: an error without content`] : [];
  const found = content.flatMap((part) => blockRefusals(part, "user", at));
  if (content.length === 0) return [`${at}: an empty result`];
  if (content.some(({ type }) => type === "tool_result")) return [`${at}: a result in a result`];
  return isError && content.some(({ type }) => type !== "text")
    ? [...found, `${at}: more than text in an error`]
    : found;
}

function pairRefusals(messages: readonly Message[]): readonly string[] {
  const found: string[] = [];
  const seen = new Set<string>();
  messages.forEach(({ role, content }, at) => {
    const before = role === "user" ? (messages[at - 1]?.content ?? []) : [];
    const asked = before.flatMap(({ type, id }) => (type === "tool_use" ? [id] : []));
    const answers = content.map(({ type, tool_use_id: id }) => (type === "tool_result" ? id : undefined));
    const results = answers.filter((id) => id !== undefined);
    if (JSON.stringify(results) !== JSON.stringify(asked)) found.push(`${at}: results ${results} for calls ${asked}`);
    if (answers.slice(0, results.length).includes(undefined)) found.push(`${at}: something in front of the results`);
    for (const { type, id } of content) {
      if (type !== "tool_use" && type !== "server_tool_use") continue;
      if (!NAME.test(String(id)) || seen.has(`${String(type)} ${String(id)}`)) found.push(`${at}: id ${String(id)}`);
      seen.add(`${String(type)} ${String(id)}`);
    }
    if (at === messages.length - 1 && content.some(({ type }) => type === "tool_use")) found.push("open calls");
    const server = content.filter(({ type }) => String(type).startsWith("server_"));
    const answered = content.flatMap(({ type, tool_use_id: id }) => (type === "web_search_tool_result" ? [id] : []));
    if (JSON.stringify(server.map(({ id }) => id).sort()) !== JSON.stringify(answered.sort()))
      found.push(`${at}: halves`);
  });
  return found;
}

function toolRefusals(body: Fields, messages: readonly Message[]): readonly string[] {
  const found: string[] = [];
  const tools = (body["tools"] ?? []) as readonly { readonly name: string; readonly input_schema: Fields }[];
  const choice = body["tool_choice"] as Fields | undefined;
  const names = tools.map(({ name }) => name);
  if (body["tools"] !== undefined && tools.length === 0) found.push("an empty list of tools");
  if (new Set(names).size !== names.length) found.push("two tools of one name");
  for (const { name, input_schema: schema } of tools) {
    if (!NAME.test(name)) found.push(`tool ${name}`);
    if (schema["type"] !== "object") found.push(`the schema of ${name} is of type ${String(schema["type"])}`);
    if (["oneOf", "anyOf", "allOf"].some((key) => Object.hasOwn(schema, key))) found.push(`a union on top of ${name}`);
  }
  const calls = messages.some(({ content }) => content.some(({ type }) => type === "tool_use"));
  if (calls && tools.length === 0) found.push("calls without tools");
  if (choice !== undefined && tools.length === 0) found.push("a choice without tools");
  if (choice?.["type"] === "tool" && !names.includes(String(choice["name"]))) found.push("a choice that is not there");
  const forced = choice?.["type"] === "any" || choice?.["type"] === "tool";
  const thinking = (body["thinking"] as Fields | undefined)?.["type"] ?? "disabled";
  if (forced && thinking !== "disabled") found.push("a forced call while thinking");
  if (choice?.["type"] === "none" && "disable_parallel_tool_use" in choice) found.push("parallel beside none");
  return found;
}

function optionRefusals(body: Fields): readonly string[] {
  const found: string[] = [];
  const { max_tokens: most, temperature, top_p: share, stop_sequences: stops } = body;
  const thinking = (body["thinking"] ?? {}) as { readonly [key: string]: unknown };
  const budget = thinking["budget_tokens"];
  if (!Number.isInteger(most)) found.push("max_tokens");
  if (typeof temperature === "number" && !(temperature >= 0 && temperature <= 1)) found.push("temperature");
  if (temperature !== undefined && share !== undefined) found.push("temperature and top_p");
  const isThinking = thinking["type"] === "enabled" || thinking["type"] === "adaptive";
  if (isThinking && (temperature !== undefined || share !== undefined)) found.push("sampling while thinking");
  if (thinking["type"] === "enabled" && !(Number(budget) >= 1024 && Number(budget) < Number(most)))
    found.push("budget");
  if ((stops as readonly string[] | undefined)?.some((stop) => stop.trim() === "")) found.push("a blank stop sequence");
  return found;
}

/** A budget demands that the reply that is gone on with begins with thinking; a model that thinks takes no beginning of its reply. */
function thinkingRefusals(body: Fields, messages: readonly Message[]): readonly string[] {
  const type = (body["thinking"] as Fields | undefined)?.["type"] ?? "disabled";
  const model = String(body["model"]);
  const last = messages.at(-1);
  const isNew = /opus-4-6|-5/.test(model) && !model.includes("4-5");
  const found: string[] = [];
  if (last?.role === "assistant" && (isNew || type !== "disabled")) found.push("the reply is begun");
  if (type === "disabled" && body["thinking"] !== undefined && /fable|opus-5-5/.test(model)) found.push("not to think");
  if (type === "enabled" && isNew) found.push("a budget");
  if (isNew && !model.includes("opus-4-6") && (body["temperature"] ?? body["top_p"]) !== undefined)
    found.push("sampling");
  const goesOn = last?.content.some((block) => block["type"] === "tool_result") ?? false;
  const first = String(messages.at(-2)?.content[0]?.["type"]);
  if (type === "enabled" && goesOn && !first.endsWith("thinking")) found.push("thinking begins in mid-reply");
  return found;
}

function cacheRefusals(body: Fields): readonly string[] {
  const marks: Fields[] = [];
  JSON.stringify(body, (_key, value: unknown) => {
    if (isJsonObject(value) && "cache_control" in value) marks.push(value);
    return value;
  });
  const onThinking = marks.some(({ type }) => String(type).endsWith("thinking"));
  return [...(marks.length > 4 ? [`${marks.length} breakpoints`] : []), ...(onThinking ? ["thinking is cached"] : [])];
}
