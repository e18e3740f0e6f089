import { OpenAiChatModel } from "ennead/models/openai-chat";

export const local = new OpenAiChatModel({ model: "qwen3", baseUrl: "http://localhost:11434/v1", provider: "ollama" });
