import { adopt } from "../domain/adopt.js";
import { thrownLabel } from "../domain/describe-thrown.js";
import { CompositionError } from "../domain/errors.js";
import { checkFields } from "../domain/known-fields.js";
import { DEFAULT_LIMITS, isTimeLimit, type Limits } from "../domain/limits.js";
import { type AgentMessage, isMessage, type Message, type MessageInput } from "../domain/message.js";
import type { ChatOptions } from "../domain/model.js";
import type { AgentConfig, SecondaryFailure, SystemContext } from "../ports/agent-config.js";
import type { Awaitable } from "../ports/awaitable.js";
import type { Budget } from "../ports/budget.js";
import { checkBudget } from "./budget.js";
import { emitWarning } from "./system-runtime.js";
import type { QueueMode } from "./turn-inbox.js";

/** A config with every default filled in. */
export type Settings = {
  readonly limits: Limits;
  readonly options: ChatOptions;
  readonly system: string | ((context: SystemContext) => Awaitable<string>) | undefined;
  readonly streaming: boolean;
  readonly modelContextWindow: number | undefined;
  readonly toolTimeoutMs: number | undefined;
  readonly sequential: boolean;
  readonly coerceArguments: boolean;
  readonly malformedCalls: "report" | "fail";
  readonly persistence: "round" | "turn";
  readonly onBusy: "wait" | "refuse";
  readonly steerMode: QueueMode;
  readonly followUpMode: QueueMode;
  readonly budget: Budget | undefined;
  readonly onToolRoundLimit: "fail" | "stop";
  readonly onSecondaryFailure: (failure: SecondaryFailure) => void;
  readonly toModelMessages: ((messages: readonly AgentMessage[]) => readonly (Message | MessageInput)[]) | undefined;
};

const OPTION_KEYS = [
  "model",
  "temperature",
  "topP",
  "maxOutputTokens",
  "stopSequences",
  "seed",
  "toolChoice",
  "parallelToolCalls",
  "reasoningEffort",
  "serviceTier",
  "responseSchema",
  "providerOptions",
] as const satisfies readonly (keyof ChatOptions)[];

const CHOICES = {
  toolExecution: ["parallel", "sequential"],
  malformedCalls: ["report", "fail"],
  persistence: ["round", "turn"],
  onBusy: ["wait", "refuse"],
  steerMode: ["one", "all"],
  followUpMode: ["one", "all"],
  onToolRoundLimit: ["fail", "stop"],
} as const;

const OTHER_KEYS = [
  "system",
  "streaming",
  "modelContextWindow",
  "toolTimeoutMs",
  "coerceArguments",
  "onSecondaryFailure",
  "toModelMessages",
  "budget",
] as const;
const KNOWN: readonly string[] = [
  ...OPTION_KEYS,
  ...Object.keys(CHOICES),
  ...OTHER_KEYS,
  ...Object.keys(DEFAULT_LIMITS),
];

/** The chat options among a config's fields. */
export function toChatOptions(config: AgentConfig): ChatOptions {
  const options: Record<string, unknown> = {};
  for (const key of OPTION_KEYS) if (config[key] !== undefined) options[key] = config[key];
  return adopt(options, "config") as ChatOptions;
}

/** Checks a config and fills in the defaults. Throws `CompositionError("invalid-config")` naming the field. */
export function resolveSettings(config: AgentConfig, contextWindow: number | undefined): Settings {
  checkKeys(config);
  return {
    limits: limitsOf(config),
    options: optionsOf(config),
    system: config.system,
    streaming: config.streaming ?? true,
    modelContextWindow: config.modelContextWindow ?? contextWindow,
    toolTimeoutMs: config.toolTimeoutMs,
    sequential: config.toolExecution === "sequential",
    coerceArguments: config.coerceArguments ?? false,
    malformedCalls: config.malformedCalls ?? "report",
    persistence: config.persistence ?? "round",
    onBusy: config.onBusy ?? "wait",
    steerMode: config.steerMode ?? "one",
    followUpMode: config.followUpMode ?? "one",
    budget: config.budget,
    onToolRoundLimit: config.onToolRoundLimit ?? "fail",
    onSecondaryFailure: quiet(config.onSecondaryFailure ?? warn),
    toModelMessages: config.toModelMessages,
  };
}

function checkKeys(config: AgentConfig): void {
  checkFields("config", config, KNOWN);
  for (const [key, allowed] of Object.entries(CHOICES)) {
    const value: unknown = config[key as keyof typeof CHOICES];
    if (value !== undefined && !(allowed as readonly unknown[]).includes(value)) {
      throw new CompositionError("invalid-config", `config.${key} is none of ${allowed.join(", ")}`);
    }
  }
  const { toolTimeoutMs } = config;
  if (toolTimeoutMs !== undefined && !isTimeLimit(toolTimeoutMs)) {
    throw new CompositionError("invalid-config", "config.toolTimeoutMs is no number above 0");
  }
  if (config.system !== undefined && typeof config.system !== "string" && typeof config.system !== "function") {
    throw new CompositionError("invalid-config", "config.system is neither text nor a function");
  }
  checkBudget("config.budget", config.budget);
}

function optionsOf(config: AgentConfig): ChatOptions {
  try {
    return toChatOptions(config);
  } catch (error) {
    throw new CompositionError("invalid-config", thrownLabel(error), { cause: error });
  }
}

function limitsOf(config: AgentConfig): Limits {
  const limits: Record<string, number> = { ...DEFAULT_LIMITS };
  for (const key of Object.keys(DEFAULT_LIMITS) as (keyof Limits)[]) {
    const value = config[key];
    if (value === undefined) continue;
    const least = key === "maxParallelTools" || key === "maxModelAttempts" || key === "turnLeaseMs" ? 1 : 0;
    if (typeof value !== "number" || Number.isNaN(value) || value < least) {
      throw new CompositionError("invalid-config", `config.${key} is not a number of at least ${least}`);
    }
    if (key === "turnLeaseMs" && value === Number.POSITIVE_INFINITY) {
      throw new CompositionError(
        "invalid-config",
        "config.turnLeaseMs is not finite: a lease that is dead would hold for ever",
      );
    }
    limits[key] = value;
  }
  return limits as Limits;
}

function warn(failure: SecondaryFailure): void {
  emitWarning(`${failure.operation} failed at ${failure.stage}: ${failure.errorCategory}`);
}

function quiet(report: (failure: SecondaryFailure) => void): (failure: SecondaryFailure) => void {
  return (failure) => {
    try {
      report(failure);
    } catch {
      // A reporter that fails has nowhere to report to.
    }
  };
}

/** What the model is shown by default: custom messages left out. */
export function withoutCustom(messages: readonly AgentMessage[]): readonly Message[] {
  const known: Message[] = [];
  for (const message of messages) if (isMessage(message)) known.push(message);
  return known;
}
