import { DEFAULT_LIMITS, type Limits } from "../domain/limits.js";
import { safeLabel } from "../domain/safe-label.js";
import { STAGE_KINDS, type StageKind } from "../domain/stage.js";
import { toolHints } from "../domain/tool-hints.js";
import type { BudgetLimits } from "../ports/budget.js";
import type { ExplainedPart, ExplainedTool, Explanation } from "../ports/explanation.js";
import type { AgentPorts } from "./agent-ports.js";
import type { Settings } from "./settings.js";
import type { ToolEntry } from "./tool-table.js";
import type { Wiring } from "./wiring.js";

/** How an agent is wired (A4). Tools are those that were listed last. */
export function explain(wiring: Wiring, ports: AgentPorts): Explanation {
  const { model, settings, providers, lister, commands } = wiring;
  const described = model.describe?.();
  const modelName = settings.options.model ?? described?.model;
  const data: Omit<Explanation, "text"> = {
    model: {
      ...partOf(model),
      ...(described === undefined ? undefined : { provider: described.provider }),
      ...(modelName === undefined ? undefined : { model: modelName }),
      ...(settings.modelContextWindow === undefined ? undefined : { contextWindow: settings.modelContextWindow }),
      streaming: settings.streaming && model.chatStreaming !== undefined,
    },
    sessions: [...new Set(ports.sessions)].map(partOf),
    providers: providers.map((provider) => ({
      ...partOf(provider),
      optional: provider.optional === true,
      trusted: provider.trustAnnotations === true,
    })),
    tools: [...lister.listed.byName.values()].map((entry) => toolOf(entry, settings.toolTimeoutMs)),
    hooks: hooksOf(wiring),
    compressors: wiring.compressors.map(partOf),
    memory: (ports.memory ?? []).map(partOf),
    observers: [...new Set(ports.observers)].map(partOf),
    lifecycles: (ports.lifecycles ?? []).map(partOf),
    commands: commands.list().map(({ id }) => id),
    behaviour: behaviourOf(settings),
    limits: boundsOf(settings.limits),
    ...(settings.budget === undefined ? undefined : { budget: withoutPrice(settings.budget.limits) }),
    notes: notesOf(wiring),
  };
  return { ...data, text: textOf(data) };
}

function partOf(part: object): ExplainedPart {
  const own: unknown = Reflect.get(part, "name");
  if (typeof own === "string" && own !== "") return { name: own };
  const { name } = part.constructor ?? {};
  return { name: typeof name === "string" && name !== "" && name !== "Object" ? name : "(unnamed)" };
}

function toolOf({ def, provider }: ToolEntry, defaultTimeoutMs: number | undefined): ExplainedTool {
  const timeoutMs = def.timeoutMs ?? defaultTimeoutMs;
  return {
    name: def.name,
    source: def.source ?? partOf(provider).name,
    executionMode: def.executionMode ?? "parallel",
    ...(timeoutMs === undefined ? undefined : { timeoutMs }),
    hints: toolHints(def, { trusted: provider.trustAnnotations === true }),
    validated: provider.validate !== undefined,
  };
}

function hooksOf({ hooks }: Wiring): Explanation["hooks"] {
  const order: { [K in StageKind]?: readonly string[] } = {};
  for (const kind of STAGE_KINDS) if (hooks[kind].length > 0) order[kind] = hooks[kind].map(({ name }) => name);
  return order;
}

function boundsOf(limits: Limits): Partial<Limits> {
  return Object.fromEntries(Object.entries(limits).filter(([, value]) => value !== Number.POSITIVE_INFINITY));
}

function behaviourOf(settings: Settings): Explanation["behaviour"] {
  const { system, toModelMessages, sequential, malformedCalls, coerceArguments, persistence } = settings;
  const { onBusy, onToolRoundLimit, steerMode, followUpMode } = settings;
  return {
    system: system === undefined ? "none" : typeof system === "string" ? "text" : "function",
    projectsMessages: toModelMessages !== undefined,
    toolExecution: sequential ? "sequential" : "parallel",
    malformedCalls,
    coerceArguments,
    persistence,
    onBusy,
    onToolRoundLimit,
    steerMode,
    followUpMode,
  };
}

function withoutPrice({ price: _price, ...limits }: BudgetLimits): Omit<BudgetLimits, "price"> {
  return limits;
}

function notesOf({ providers, settings, lister, compressors }: Wiring): readonly string[] {
  const notes = providers
    .filter((provider) => provider.validate === undefined)
    .map((provider) => `arguments for the tools of ${safeLabel(partOf(provider).name)} are not validated`);
  if (settings.persistence === "turn") notes.push("a turn is stored at its end: nothing of it is left where it fails");
  if (
    settings.toolTimeoutMs === undefined &&
    [...lister.listed.byName.values()].some(({ def }) => def.timeoutMs === undefined)
  )
    notes.push("some tools have no timeout");
  if (compressors.length === 0) notes.push("no compressor: a conversation may outgrow the context window");
  return notes;
}

function textOf(data: Omit<Explanation, "text">): string {
  const { model, limits } = data;
  const names = (parts: readonly ExplainedPart[]): string =>
    parts.map(({ name }) => safeLabel(name)).join(", ") || "none";
  const changed = (Object.keys(limits) as (keyof Limits)[]).filter((name) => limits[name] !== DEFAULT_LIMITS[name]);
  const lines = [
    `model: ${safeLabel(model.name)}${model.model === undefined ? "" : ` (${safeLabel(model.model)})`}, ${model.streaming ? "streaming" : "not streaming"}`,
    `sessions: ${names(data.sessions)}`,
    `tool providers: ${names(data.providers)}`,
    ...data.tools.map((tool) => `  ${toolLine(tool)}`),
    `compressors: ${names(data.compressors)}`,
    `memory: ${names(data.memory)}`,
    `observers: ${names(data.observers)}`,
    `lifecycles: ${names(data.lifecycles)}`,
    `commands: ${data.commands.map((id) => safeLabel(id)).join(", ") || "none"}`,
    `hooks:${Object.keys(data.hooks).length === 0 ? " none" : ""}`,
    ...Object.entries(data.hooks).map(
      ([stage, hooks]) => `  ${stage}: ${hooks.map((name) => safeLabel(name)).join(" > ")}`,
    ),
    `behaviour: ${boundsText(data.behaviour)}`,
    `limits other than the defaults: ${changed.map((name) => `${name} ${limits[name]}`).join(", ") || "none"}`,
    ...(data.budget === undefined ? [] : [`budget: ${boundsText(data.budget)}`]),
    ...data.notes.map((note) => `note: ${note}`),
  ];
  return lines.join("\n");
}

function boundsText(bounds: object): string {
  const set = Object.entries(bounds).filter(([, value]) => value !== undefined);
  return set.map(([name, value]) => `${name} ${String(value)}`).join(", ") || "none";
}

function toolLine({ name, source, executionMode, timeoutMs, hints, validated }: ExplainedTool): string {
  const effect = hints.readOnly ? "read-only" : hints.destructive ? "destructive" : "writes";
  const facts = [
    `from ${safeLabel(source)}`,
    executionMode,
    hints.idempotent ? `${effect}, idempotent` : effect,
    timeoutMs === undefined ? "no timeout" : `${timeoutMs} ms`,
    validated ? "validated" : "not validated",
  ];
  return `${safeLabel(name)}: ${facts.join(", ")}`;
}
