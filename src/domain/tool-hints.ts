import type { ToolDef } from "./tool.js";

/** What may be believed of a tool's effects. */
export type ToolHints = {
  readonly readOnly: boolean;
  readonly destructive: boolean;
  readonly idempotent: boolean;
  readonly openWorld: boolean;
};

const WORST: ToolHints = Object.freeze({ readOnly: false, destructive: true, idempotent: false, openWorld: true });

/** The annotations of a tool as far as they count: only a provider that is trusted lowers what is assumed, which is the worst. */
export function toolHints({ annotations }: ToolDef, provider: { readonly trusted: boolean }): ToolHints {
  if (!provider.trusted || annotations === undefined) return WORST;
  const readOnly = annotations.readOnlyHint === true;
  return {
    readOnly,
    destructive: !readOnly && annotations.destructiveHint !== false,
    idempotent: readOnly || annotations.idempotentHint === true,
    openWorld: annotations.openWorldHint !== false,
  };
}
