/** What each figure is to reach at most, and what it is hoped to reach; without a target it is shown only. */
export const targets = {
  "turn.ratio": { title: "turn without tools, 20 chunks", unit: "x", target: 6, stretch: 4 },
  "tools.ratio": { title: "turn with three parallel validated calls", unit: "x", target: 7, stretch: 6 },
  "rounds-50.ratio": { title: "turn of 50 tool rounds", unit: "x", target: 6, stretch: 5 },
  "rounds.exponent": { title: "growth from 50 to 200 tool rounds", unit: "exponent", target: 1.2 },
  "chunks.ratio": { title: "20,000 streamed chunks", unit: "x", target: 2.5 },
  "session.ratio": { title: "session of 1,000 turns", unit: "x", target: 5 },
  "session.growth": { title: "last 100 turns of a session against the first 100", unit: "x", target: 1.2 },
  "arguments.ratio": { title: "200 KB of tool arguments in 10,000 deltas", unit: "x", target: 2.4 },
  "cold-start.cpu": { title: "cold start to a built agent, over an empty process", unit: "ms", target: 40 },
  "cold-start.models-openai-chat": {
    title: "cold start to ennead/models/openai-chat, over an empty process",
    unit: "ms",
    target: 20,
  },
  "cold-start.models-openai-responses": {
    title: "cold start to ennead/models/openai-responses, over an empty process",
    unit: "ms",
    target: 20,
  },
  "cold-start.models-anthropic": {
    title: "cold start to ennead/models/anthropic, over an empty process",
    unit: "ms",
    target: 20,
  },
  "cold-start.models-gemini": {
    title: "cold start to ennead/models/gemini, over an empty process",
    unit: "ms",
    target: 20,
  },
  "cold-start.models-raw-stream": {
    title: "cold start to ennead/models/raw-stream, over an empty process",
    unit: "ms",
    target: 20,
  },
  "cold-start.models-ai-sdk": {
    title: "cold start to ennead/models/ai-sdk, over an empty process",
    unit: "ms",
    target: 20,
  },
  "cold-start.models-decorators": {
    title: "cold start to ennead/models/decorators, over an empty process",
    unit: "ms",
    target: 20,
  },
  "cold-start.models-proxy": {
    title: "cold start to ennead/models/proxy, over an empty process",
    unit: "ms",
    target: 20,
  },
  "cold-start.models-offline-demo": {
    title: "cold start to ennead/models/offline-demo, over an empty process",
    unit: "ms",
    target: 20,
  },
  "sessions-at-once.ratio": { title: "1,000 sessions at once, tools wait 5 ms", unit: "x", target: 2.3 },
  "sessions-at-once.peak": { title: "1,000 sessions at once, peak memory", unit: "MiB", target: 110 },
  "bundle.gzip": { title: "agent, model and tool without schema library, gzipped", unit: "KB", target: 25 },
  "bundle.published": { title: "the same from the published files, schema library included", unit: "KB" },
};
