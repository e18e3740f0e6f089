import { CompositionError, ModelError } from "../../../domain/errors.js";
import { estimateAll } from "../../../domain/estimate.js";
import { isJsonObject } from "../../../domain/json.js";
import type { ChatOptions } from "../../../domain/model.js";
import type { ChatRequest, ModelPort } from "../../../ports/model.js";
import { isPicture } from "../common/is-picture.js";
import { askModel, decoratedModel } from "./decorated-model.js";

/** Where a request goes. */
export type ModelRoute = {
  /** Decides by the request alone, so that the same request always goes the same way. */
  readonly when: (request: ChatRequest) => boolean;
  readonly to: ModelPort;
  /** Laid over the request's own options; a field that is undefined removes one, such as `model` where that was only the name of the route. */
  readonly options?: ChatOptions | undefined;
};

/**
 * Sends each request to the first route whose `when` holds, else to `otherwise`, by which it describes itself. A `when` that throws fails
 * the call as `request-build`.
 */
export function routed(routes: readonly ModelRoute[], otherwise: ModelPort): ModelPort {
  if (!isRoutes(routes)) {
    throw new CompositionError("invalid-config", "routed needs a list of routes that have when and to");
  }
  return decoratedModel("routed", [otherwise, ...routes.map(({ to }) => to)], async (request, onChunk) => {
    const route = chosen(routes, request);
    const options = route?.options;
    const sent = options === undefined ? request : { ...request, options: { ...request.options, ...options } };
    return await askModel(route?.to ?? otherwise, sent, onChunk);
  });
}

function isRoutes(value: unknown): boolean {
  if (!Array.isArray(value)) return false;
  return value.every((route) => isJsonObject(route) && typeof Reflect.get(route, "when") === "function");
}

function chosen(routes: readonly ModelRoute[], request: ChatRequest): ModelRoute | undefined {
  try {
    return routes.find(({ when }) => when(request));
  } catch (error) {
    throw new ModelError("request-build", "a route could not say whether it takes the request", { cause: error });
  }
}

/** Holds for requests with a picture in any of their messages. */
export function hasImages({ messages }: ChatRequest): boolean {
  return messages.some((message) => {
    // Sessions of older versions hold plain text.
    const content: unknown = isJsonObject(message) ? Reflect.get(message, "content") : undefined;
    return Array.isArray(content) && content.some(isPicture);
  });
}

/** Holds for requests whose messages are estimated to take more than `tokens`. */
export function largerThan(tokens: number): (request: ChatRequest) => boolean {
  return ({ messages }) => estimateAll(messages) > tokens;
}

/** Holds for requests that ask for one of these models by name. */
export function asksFor(...models: readonly string[]): (request: ChatRequest) => boolean {
  return ({ options }) => options.model !== undefined && models.includes(options.model);
}
