import { copyJson } from "../../../domain/adopt.js";
import { CompositionError, ToolError } from "../../../domain/errors.js";
import { isJsonObject, type Json, type JsonObject } from "../../../domain/json.js";
import { safeLabel } from "../../../domain/safe-label.js";
import type { ToolResult } from "../../../domain/tool.js";
import type { ToolContext, ToolReturn, Validation } from "../../../ports/tool-provider.js";
import { checkDefinition } from "../check-definition.js";
import { type DefinedTool, madeTool, type UntypedFunctions } from "../made-tool.js";
import type { ToolDescription, ToolFunctions, Unchanging } from "../tool-functions.js";
import { schemaOf } from "./schema-of.js";
import { standardIssues } from "./standard-issues.js";
import type { StandardInput, StandardOutput, StandardResult, StandardSchema } from "./standard-types.js";

/** What `execute` may return: with an `output` what that takes or a whole result, else anything at all (U3). */
export type StandardToolOutput<O extends StandardSchema | undefined> = O extends StandardSchema
  ? Unchanging<StandardInput<O>> | ToolResult
  : ToolReturn;

/**
 * A tool whose schemas are those of any library of Standard Schema. The types of all functions follow from them: `execute` gets what the schema makes
 * of the arguments; hooks and conflict keys come before that, and get what it takes.
 */
export type StandardSchemaToolDefinition<
  I extends StandardSchema,
  O extends StandardSchema | undefined = undefined,
  R extends StandardToolOutput<O> = StandardToolOutput<O>,
> = ToolDescription &
  ToolFunctions<StandardInput<I>, R, StandardOutput<I>> & {
    /** Takes an object. May be asynchronous, may transform. */
    readonly input: I;
    /** What `execute` returns is checked by it, and what it makes of that is the result; in a whole result it is `structured`. */
    readonly output?: O;
    /** Makes the JSON Schema that the model sees, for a library that does not say it by itself, such as valibot; asked for `output` too. */
    readonly toJsonSchema?: ((schema: I | NonNullable<O>) => object) | undefined;
  };

/**
 * Makes a tool of schemas of zod, valibot, arktype and their like; needs none of them. Arguments stay as they came until `execute`, which gets what the
 * schema makes of them, so that what is stored, shown and approved is JSON, and checked again as it is. A schema that is asynchronous is asked right before
 * `execute` alone. Throws `CompositionError("invalid-schema")` for what is no Standard Schema, or has no JSON Schema of an object.
 */
export function standardSchemaTool<
  I extends StandardSchema,
  O extends StandardSchema | undefined = undefined,
  const R extends StandardToolOutput<O> = StandardToolOutput<O>,
>(definition: StandardSchemaToolDefinition<I, O, R>): DefinedTool {
  checkDefinition("standardSchemaTool", definition, ["input", "output", "toJsonSchema"]);
  const { name, toJsonSchema, input, output } = definition;
  if (toJsonSchema !== undefined && typeof toJsonSchema !== "function")
    throw new CompositionError("invalid-config", `standardSchemaTool ${safeLabel(name)}: toJsonSchema is no function`);
  const checks = new StandardCheck(input, name);
  const outputCheck = output === undefined ? undefined : new StandardCheck(output, name);
  const functions = definition as unknown as UntypedFunctions;
  const execute = async (args: JsonObject, context: ToolContext): Promise<ToolReturn> =>
    await functions.execute((await checks.accepted(args)) as JsonObject, context);
  return madeTool(
    definition,
    { ...functions, execute },
    {
      input: schemaOf(input, "input", name, toJsonSchema),
      output: output && schemaOf(output, "output", name, toJsonSchema),
      validate: (args) => checks.validate(args),
      checkOutput: outputCheck && (async (value) => verdict(await outputCheck.ask(value), value)),
    },
  );
}

class StandardCheck {
  readonly #schema: StandardSchema;
  readonly #tool: string;
  /** Known once it gave a promise: asking without waiting would do its work for nothing. */
  #asynchronous = false;

  constructor(schema: StandardSchema, tool: string) {
    this.#schema = schema;
    this.#tool = safeLabel(tool);
    if (isStandardSchema(schema)) return;
    throw new CompositionError("invalid-schema", `a schema of ${this.#tool} is no Standard Schema (version 1)`);
  }

  /** Throws a TypeError where a library answers with what is no result. It is given a copy: some, arktype among them, transform in place. */
  ask(value: Json): StandardResult<unknown> | Promise<StandardResult<unknown>> {
    const given: unknown = this.#schema["~standard"].validate(copyJson(value, "value"));
    const isPromise = isJsonObject(given) && typeof given["then"] === "function";
    return isPromise ? Promise.resolve<unknown>(given).then((later) => this.#result(later)) : this.#result(given);
  }

  #result(given: unknown): StandardResult<unknown> {
    if (typeof given === "object" && given !== null) {
      // That of arktype is a list, and holds itself as its issues.
      const issues: unknown = Reflect.get(given, "issues") ?? undefined;
      if (issues === undefined ? "value" in given : Array.isArray(issues)) return given as StandardResult<unknown>;
    }
    throw new TypeError(`the schema of ${this.#tool} answered with what is no result`);
  }

  validate(args: JsonObject): Validation {
    if (this.#asynchronous) return { ok: true, value: args };
    const result = this.ask(args);
    if (!(result instanceof Promise)) return result.issues ? refusal(result.issues, args) : { ok: true, value: args };
    this.#asynchronous = true;
    // It is asked again, and waited for, before the tool runs.
    result.catch(() => undefined);
    return { ok: true, value: args };
  }

  /** What the schema makes of the arguments. Rejects with `ToolError("invalid-arguments")`. */
  async accepted(args: JsonObject): Promise<unknown> {
    const result = await this.ask(args);
    if (!result.issues) return result.value;
    const issues = standardIssues(result.issues, args).map(
      ({ path, expected }) => `${path === "" ? "/" : path}: ${expected}`,
    );
    throw new ToolError("invalid-arguments", `the arguments for ${this.#tool} are invalid: ${issues.join("; ")}`);
  }
}

function refusal(
  issues: Parameters<typeof standardIssues>[0],
  value: unknown,
): Extract<Validation, { readonly ok: false }> {
  return { ok: false, issues: standardIssues(issues, value) };
}

function verdict(
  result: StandardResult<unknown>,
  value: unknown,
): { readonly ok: true; readonly value: unknown } | ReturnType<typeof refusal> {
  return result.issues ? refusal(result.issues, value) : { ok: true, value: result.value };
}

function isStandardSchema(schema: unknown): boolean {
  if ((typeof schema !== "object" && typeof schema !== "function") || schema === null) return false;
  const standard: unknown = Reflect.get(schema, "~standard");
  if (typeof standard !== "object" || standard === null) return false;
  return Reflect.get(standard, "version") === 1 && typeof Reflect.get(standard, "validate") === "function";
}
