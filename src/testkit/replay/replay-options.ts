import type { JsonObject } from "../../domain/json.js";
import type { Runtime } from "../../ports/runtime.js";
import type { ToolProvider } from "../../ports/tool-provider.js";

/** How a recording is played back. */
export type ReplayOptions = {
  /** The secrets that were declared for the recording, where they are at hand; without them a secret in a request is not compared. */
  readonly secrets?: readonly string[] | undefined;
  /** Whose time passes between chunks, and before answers, as it did; without it everything comes at once. */
  readonly pace?: Pick<Runtime, "after"> | undefined;
  /** What of a model's request is compared: is given the recorded one and the one that is made. For what is different every day. */
  readonly normalise?: ((request: JsonObject) => JsonObject) | undefined;
  /** The real providers, in the order of the recording: their pure functions and their tools' own hooks are used, nothing is executed. */
  readonly tools?: readonly ToolProvider[] | undefined;
};
