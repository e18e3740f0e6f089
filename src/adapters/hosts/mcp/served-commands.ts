import { type GetPromptResult, type Prompt, ProtocolError, ProtocolErrorCode } from "@modelcontextprotocol/server";
import { setOwn } from "../../../domain/adopt.js";
import type { CommandArgs, CommandDef, CommandOutcome, CommandParam, CommandValue } from "../../../domain/command.js";
import { CommandError } from "../../../domain/errors.js";
import type { JsonObject } from "../../../domain/json.js";
import { safeLabel } from "../../../domain/safe-label.js";
import type { AgentApi } from "../../../ports/agent-api.js";
import { refusal } from "./asked-params.js";

/** A command as a prompt: what a person picks, as clients offer prompts, and no model runs by itself. */
export function promptOf({ id, label, description, params }: CommandDef): Prompt {
  return {
    name: id,
    title: label,
    description,
    arguments: params.map((param) => ({
      name: param.name,
      description: describe(param),
      required: param.required && param.default === undefined,
    })),
  };
}

function describe({ label, description, type, choices }: CommandParam): string {
  const kind = choices === undefined ? type : choices.join(" | ");
  return `${description === "" ? label : description} (${kind})`;
}

/** Runs a command; its outcome is the prompt's message. Rejects with a protocol error; its code tells what the user can mend from what failed. */
export async function runCommand(
  agent: AgentApi,
  def: CommandDef,
  given: JsonObject,
  signal: AbortSignal,
): Promise<GetPromptResult> {
  const outcome = await invoked(agent, def, given, signal);
  if (outcome.type !== "success") throw refusal(outcome.type === "failure" ? outcome.reason : outcome.prompt);
  const { feedback, structured } = outcome;
  const text = structured === undefined ? feedback : `${feedback}\n${JSON.stringify(structured)}`;
  return {
    description: def.label,
    messages: [{ role: "assistant", content: { type: "text", text: text.toWellFormed() } }],
  };
}

async function invoked(
  agent: AgentApi,
  def: CommandDef,
  given: JsonObject,
  signal: AbortSignal,
): Promise<CommandOutcome> {
  try {
    return await agent.commands.invoke(def.id, argsOf(def, given), { signal });
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    if (error.kind !== "execution-failed") throw refusal(error.message);
    throw new ProtocolError(ProtocolErrorCode.InternalError, error.message);
  }
}

/** Prompts have texts only. */
function argsOf({ id, params }: CommandDef, given: JsonObject): CommandArgs {
  const args: Record<string, CommandValue> = {};
  for (const [name, text] of Object.entries(given)) {
    const param = params.find((one) => one.name === name);
    if (param === undefined) throw refusal(`${safeLabel(id)} has no argument ${safeLabel(name)}`);
    if (typeof text !== "string") throw refusal(`the argument ${safeLabel(name)} of ${safeLabel(id)} is no text`);
    setOwn(args, name, valueOf(param, text));
  }
  return args;
}

const TRUE = ["true", "on", "yes"];
const FALSE = ["false", "off", "no"];

/** What is no value of its type stays text, which the command's own check refuses with its reason. */
function valueOf({ type }: CommandParam, text: string): CommandValue {
  if (type === "int" && /^[+-]?\d+$/.test(text.trim())) return Number(text);
  if (type === "strings")
    return text
      .split(",")
      .map((item) => item.trim())
      .filter((item) => item !== "");
  if (type === "bool" && TRUE.includes(text.toLowerCase())) return true;
  if (type === "bool" && FALSE.includes(text.toLowerCase())) return false;
  return text;
}
