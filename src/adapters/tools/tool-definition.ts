import type { Static, TObject, TSchema } from "@sinclair/typebox";
import type { ToolResult } from "../../domain/tool.js";
import type { ToolReturn } from "../../ports/tool-provider.js";
import type { ToolDescription, ToolFunctions, Unchanging } from "./tool-functions.js";

/** What `execute` may return: with an `output` schema its type or a whole result, else anything at all (U3). */
export type ToolOutput<O extends TSchema | undefined> = O extends TSchema
  ? Unchanging<Static<O>> | ToolResult
  : ToolReturn;

/** A tool as an application writes it. The types of all functions follow from `parameters` and `output`. */
export type ToolDefinition<
  P extends TObject,
  O extends TSchema | undefined = undefined,
  R extends ToolOutput<O> = ToolOutput<O>,
> = ToolDescription &
  ToolFunctions<Static<P>, R> & {
    /** Defaults are applied before validation, so a property with a default is always there. */
    readonly parameters: P;
    /** What `execute` returns is checked against it, in a whole result its `structured`; what does not fit is an error result. Error results are not checked. */
    readonly output?: O;
  };
