import type { Json, JsonObject } from "./json.js";

/** How a consumer presents a command; it means nothing to the framework. */
export type CommandType = "action" | "toggle" | "select" | "input" | "multi-step";

/** `int` is a safe integer, `strings` a comma-separated list. */
export type CommandParamType = "string" | "int" | "bool" | "strings";

/** The value of a parsed parameter. */
export type CommandValue = string | number | boolean | readonly string[];

/** One parameter. Positional ones are filled in declaration order; any may be given as `name=value`. */
export type CommandParam = {
  readonly name: string;
  readonly label: string;
  readonly description: string;
  readonly type: CommandParamType;
  readonly required: boolean;
  readonly default?: CommandValue;
  readonly choices?: readonly string[];
  readonly positional: boolean;
};

/** A command a user can call as `/id` or by an alias. `shortcut`, `icon`, `visible` and `metadata` are for the consumer. */
export type CommandDef = {
  readonly id: string;
  readonly label: string;
  readonly description: string;
  readonly category: string;
  readonly type: CommandType;
  readonly params: readonly CommandParam[];
  readonly aliases: readonly string[];
  readonly shortcut?: string;
  readonly icon?: string;
  readonly visible: boolean;
  readonly metadata?: JsonObject;
};

/** Validated arguments by parameter name; optional ones without a default are absent. */
export type CommandArgs = { readonly [name: string]: CommandValue };

/** What a consumer's surface should do after a command. */
export type UiHint = "refresh-models" | "refresh-settings" | "close-panel" | "toast";

/** What became of a command; a failure the user can mend is a value, not an error. */
export type CommandOutcome =
  | { readonly type: "success"; readonly feedback: string; readonly structured?: Json; readonly uiHint?: UiHint }
  | { readonly type: "failure"; readonly reason: string }
  | { readonly type: "needsInput"; readonly prompt: string };

/** A value, or the reason there is none, in words for the user. */
export type Parsed<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly reason: string };

/** A command line: the name after `/`, and everything behind the first blank, unchanged. */
export type SlashLine = { readonly name: string; readonly rest: string };
