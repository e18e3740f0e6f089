import type {
  LanguageModelV3CallOptions,
  LanguageModelV4CallOptions,
  LanguageModelV4Prompt,
  LanguageModelV4ToolResultOutput,
  SharedV4FileData,
} from "./ai-sdk-types.js";

type PromptV3 = LanguageModelV3CallOptions["prompt"];
type OutputV3 = Extract<
  Extract<PromptV3[number], { role: "tool" }>["content"][number],
  { type: "tool-result" }
>["output"];
type FilePartV3 = Extract<Extract<PromptV3[number], { role: "user" }>["content"][number], { type: "file" }>;

/** The same call for a model of spec v3, which has no reasoning effort and other words for files. */
export function toV3(options: LanguageModelV4CallOptions): LanguageModelV3CallOptions {
  const { prompt, reasoning: _, ...rest } = options;
  return { ...rest, prompt: promptV3(prompt) };
}

function promptV3(prompt: LanguageModelV4Prompt): PromptV3 {
  return prompt.map((message): PromptV3[number] => {
    if (message.role === "user") {
      return {
        role: "user",
        content: message.content.map((part) => (part.type === "file" ? { ...part, data: dataV3(part.data) } : part)),
      };
    }
    if (message.role === "tool") {
      return {
        role: "tool",
        content: message.content.map((part) =>
          part.type === "tool-result" ? { ...part, output: outputV3(part.output) } : part,
        ),
      };
    }
    // Replies of a transcript hold nothing that the two specs word in different ways.
    return message as PromptV3[number];
  });
}

/** Only bytes and addresses are ever sent. */
function dataV3(data: SharedV4FileData): FilePartV3["data"] {
  if (data.type === "url") return data.url;
  return data.type === "data" ? data.data : "";
}

function outputV3(output: LanguageModelV4ToolResultOutput): OutputV3 {
  if (output.type !== "content") return output;
  return {
    type: "content",
    value: output.value.map((part): Extract<OutputV3, { type: "content" }>["value"][number] => {
      if (part.type !== "file") return part;
      const kind = part.mediaType.startsWith("image/") ? "image" : "file";
      if (part.data.type === "url") return { type: `${kind}-url`, url: part.data.url.href };
      const data = part.data.type === "data" && typeof part.data.data === "string" ? part.data.data : "";
      return kind === "image"
        ? { type: "image-data", data, mediaType: part.mediaType }
        : {
            type: "file-data",
            data,
            mediaType: part.mediaType,
            ...(part.filename === undefined ? undefined : { filename: part.filename }),
          };
    }),
  };
}
