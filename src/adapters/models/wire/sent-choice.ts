import type { ToolChoice } from "../../../domain/model.js";

/**
 * The choice of a request as it may be sent with these tools. A forced tool that is not among them cannot be called: providers refuse the
 * whole request for it, so that the model is left free instead.
 */
export function sentChoice(
  choice: ToolChoice | undefined,
  tools: readonly { readonly name: string }[],
): ToolChoice | undefined {
  const isSendable = typeof choice !== "object" || tools.some(({ name }) => name === choice.tool);
  return isSendable ? choice : undefined;
}
