import { type ChatCompletionChunk, chatCompletionBody, streamModel } from "ennead/models/raw-stream";

/** Whatever reaches the server: a client of your own, a gateway, a queue. */
export type Transport = (body: object, signal: AbortSignal) => AsyncIterable<ChatCompletionChunk>;

export const overTransport = (send: Transport) =>
  streamModel((request, signal) => send(chatCompletionBody(request, { model: "m1" }), signal), { model: "m1" });
