import type { Limits } from "../domain/limits.js";
import type { StageKind } from "../domain/stage.js";
import type { ToolHints } from "../domain/tool-hints.js";
import type { BudgetLimits } from "./budget.js";

/** A part of an agent: its own name, else the name of its class. */
export type ExplainedPart = { readonly name: string };

/** A tool as the agent has it. `validated`: its provider checks arguments; otherwise they reach the tool unchecked. */
export type ExplainedTool = {
  readonly name: string;
  /** The tool's own, else its provider's name. */
  readonly source: string;
  readonly executionMode: "parallel" | "sequential";
  /** Milliseconds; absent where nothing bounds a call. */
  readonly timeoutMs?: number;
  /** As far as its provider is trusted. */
  readonly hints: ToolHints;
  readonly validated: boolean;
};

/** How an agent is wired. Lists are in the order in which they count. */
export type Explanation = {
  readonly model: ExplainedPart & {
    readonly provider?: string;
    readonly model?: string;
    /** Tokens. */
    readonly contextWindow?: number;
    readonly streaming: boolean;
  };
  /** The first is the authority. */
  readonly sessions: readonly ExplainedPart[];
  readonly providers: readonly (ExplainedPart & { readonly optional: boolean; readonly trusted: boolean })[];
  readonly tools: readonly ExplainedTool[];
  /** The hooks of each stage that has any, in the order they are asked. */
  readonly hooks: { readonly [K in StageKind]?: readonly string[] };
  readonly compressors: readonly ExplainedPart[];
  readonly memory: readonly ExplainedPart[];
  readonly observers: readonly ExplainedPart[];
  readonly lifecycles: readonly ExplainedPart[];
  /** Ids of commands. */
  readonly commands: readonly string[];
  /** How it behaves where the configuration had a choice. */
  readonly behaviour: {
    readonly system: "none" | "text" | "function";
    readonly projectsMessages: boolean;
    readonly toolExecution: "parallel" | "sequential";
    readonly malformedCalls: "report" | "fail";
    readonly coerceArguments: boolean;
    readonly persistence: "round" | "turn";
    readonly onBusy: "wait" | "refuse";
    readonly onToolRoundLimit: "fail" | "stop";
    readonly steerMode: "one" | "all";
    readonly followUpMode: "one" | "all";
  };
  /** Only those that bound something. */
  readonly limits: Partial<Limits>;
  /** Of the budget in the configuration, which others may draw from too. */
  readonly budget?: Omit<BudgetLimits, "price">;
  /** What deserves a look. */
  readonly notes: readonly string[];
  /** The same for a person to read, in several lines; of the limits those that are not the defaults. */
  readonly text: string;
};
