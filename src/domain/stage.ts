import type { ModelError, ToolError } from "./errors.js";
import type { JsonObject } from "./json.js";
import type { AgentMessage, AssistantMessage, Message, MessageInput, StoppedBy } from "./message.js";
import type { ChatOptions, ModelResponse } from "./model.js";
import type { ToolCall, ToolDef, ToolExchange, ToolInvocation, ToolResult } from "./tool.js";
import type { ToolHints } from "./tool-hints.js";
import type { TurnResult } from "./turn-result.js";

/** Why the tool list is asked for. */
export type ToolListReason = "turn-start" | "tools-changed";

/** Where a model call failed: before it was sent, before output began, or after. */
export type ModelPhase = "prepare" | "send" | "stream";

/** The end of a round as hooks see it; `natural` when no call is left to run. */
export type RoundEnd = {
  readonly round: number;
  readonly message: AssistantMessage;
  readonly exchanges: readonly ToolExchange[];
  readonly natural: boolean;
};

/** What each stage holds. */
export type StageBodies = {
  readonly beforeTurn: { readonly input: readonly MessageInput[] };
  readonly beforeTools: { readonly reason: ToolListReason };
  readonly chooseTools: { readonly reason: ToolListReason; readonly tools: readonly ToolDef[] };
  /** What was said into the running turn, steering or follow-ups, before it is stored and the model is asked about it. */
  readonly beforeSteering: { readonly input: readonly MessageInput[] };
  readonly beforeContext: { readonly messages: readonly AgentMessage[] };
  readonly beforeModel: {
    readonly messages: readonly Message[];
    readonly tools: readonly ToolDef[];
    readonly options: ChatOptions;
    /** JSON handed to the model port beside the request; a hook adds to it. */
    readonly requestContext?: JsonObject;
  };
  /** `stopped` where the reply was cut short, and by what: then it holds what came until then, without calls, and its text and reasoning are stored as the hooks leave them (L5). */
  readonly afterModel: { readonly response: ModelResponse; readonly stopped?: StoppedBy | undefined };
  /** `attempt` counts the model calls of this round from 1. */
  readonly modelError: { readonly error: ModelError; readonly attempt: number; readonly phase: ModelPhase };
  /** `tool` and what may be believed of its effects are absent for an unknown tool. */
  readonly beforeTool: {
    readonly call: ToolCall;
    readonly tool?: ToolDef | undefined;
    readonly hints?: ToolHints | undefined;
  };
  readonly admitTool: { readonly invocation: ToolInvocation };
  readonly toolError: { readonly call: ToolCall; readonly error: ToolError };
  /** `answered` when a hook gave the result and the tool did not run. */
  readonly afterTool: {
    readonly call: ToolCall;
    readonly result: ToolResult;
    readonly error?: ToolError;
    readonly answered?: true;
  };
  readonly settleTool: { readonly exchange: ToolExchange };
  readonly beforeContinue: RoundEnd;
  readonly beforeEnd: RoundEnd;
  readonly afterTurn: { readonly result: TurnResult };
  readonly turnError: { readonly error: unknown };
};

/** Names of the stages; a hook that lists none is asked at every one, later additions included. */
export type StageKind = keyof StageBodies;

/** A stage of one kind. */
export type StageOf<K extends StageKind> = { readonly kind: K } & StageBodies[K];

/** A named moment of the turn at which hooks are asked; a closed union on `kind`. */
export type Stage = { [K in StageKind]: StageOf<K> }[StageKind];

/** What `next` may change, by stage. */
export type StagePatches = {
  readonly beforeTurn: { readonly input?: readonly MessageInput[] | undefined };
  readonly chooseTools: { readonly tools?: readonly ToolDef[] | undefined };
  readonly beforeSteering: { readonly input?: readonly MessageInput[] | undefined };
  /** `persist` keeps the new list as a compaction record; otherwise it holds for this request only. */
  readonly beforeContext: {
    readonly messages?: readonly (AgentMessage | MessageInput)[] | undefined;
    readonly persist?: boolean | undefined;
  };
  readonly beforeModel: {
    readonly messages?: readonly (Message | MessageInput)[] | undefined;
    readonly tools?: readonly ToolDef[] | undefined;
    readonly options?: ChatOptions | undefined;
    readonly requestContext?: JsonObject | undefined;
  };
  readonly afterModel: { readonly response?: ModelResponse | undefined };
  /** Name and arguments may change, the id never. */
  readonly beforeTool: { readonly call?: ToolCall | undefined };
  readonly afterTool: { readonly result?: ToolResult | undefined };
};

/** Whole fields of a result to replace. */
export type ResultPatch = Partial<Pick<ToolResult, "content" | "details" | "isError" | "terminate">>;

/** What a hook asks for; nothing at all means go on. Made by the makers of the stage context. */
export type StageOutcome =
  | { readonly kind: "next"; readonly patch: StagePatches[keyof StagePatches] }
  /** In an after stage it may bring a patch along, which counts like one of `next`. */
  | {
      readonly kind: "stop";
      readonly reason: string;
      readonly patch?: StagePatches["afterModel" | "afterTool"] | undefined;
    }
  | { readonly kind: "abort"; readonly reason: string }
  | { readonly kind: "retry"; readonly compress: boolean }
  | { readonly kind: "answer"; readonly result: ToolResult }
  | { readonly kind: "block"; readonly reason: string }
  /** It may bring along what several hooks in one made of the call until then: that is what is shown to whoever decides. */
  | { readonly kind: "defer"; readonly reason: string; readonly patch?: StagePatches["beforeTool"] | undefined }
  | { readonly kind: "patch"; readonly patch: ResultPatch }
  | { readonly kind: "finish" }
  | { readonly kind: "checkpoint" }
  | { readonly kind: "cancel"; readonly reason: string }
  | { readonly kind: "goOn"; readonly messages: readonly MessageInput[] }
  | { readonly kind: "wait"; readonly reason: string };

/** Names of the outcomes; `STAGE_OUTCOMES` tells which a stage allows. */
export type OutcomeKind = StageOutcome["kind"];

/** The outcomes each stage allows; any other counts as a throw. */
export const STAGE_OUTCOMES = {
  beforeTurn: ["next", "stop", "abort"],
  beforeTools: [],
  chooseTools: ["next", "stop", "abort"],
  beforeSteering: ["next", "stop", "abort"],
  beforeContext: ["next", "stop", "abort"],
  beforeModel: ["next", "stop", "abort"],
  afterModel: ["next", "stop"],
  modelError: ["retry"],
  beforeTool: ["next", "answer", "block", "defer", "stop", "abort"],
  admitTool: [],
  toolError: ["answer"],
  afterTool: ["next", "patch", "stop"],
  settleTool: [],
  beforeContinue: ["finish", "checkpoint", "stop", "cancel"],
  beforeEnd: ["goOn", "wait"],
  afterTurn: [],
  turnError: [],
} as const satisfies { readonly [K in StageKind]: readonly OutcomeKind[] };

/** Every stage, in the order in which `STAGE_OUTCOMES` lists them. */
export const STAGE_KINDS = Object.keys(STAGE_OUTCOMES) as readonly StageKind[];

/** The before stage each after or error stage is paired with (H1); stages not named run forward and have no pair. */
export const STAGE_PAIRS: { readonly [K in StageKind]?: StageKind } = {
  afterTurn: "beforeTurn",
  turnError: "beforeTurn",
  afterModel: "beforeModel",
  modelError: "beforeModel",
  toolError: "beforeTool",
  afterTool: "beforeTool",
  settleTool: "beforeTool",
};
