/** What every library of Standard Schema gives (version 1): zod, valibot, arktype and their like. */
export type StandardSchema<Input = unknown, Output = Input> = {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
  };
};

/** What a library makes of a value. */
export type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[] };

export type StandardIssue = {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
};

/** What a schema takes. */
export type StandardInput<S extends StandardSchema> = NonNullable<S["~standard"]["types"]>["input"];

/** What a schema makes of it. */
export type StandardOutput<S extends StandardSchema> = NonNullable<S["~standard"]["types"]>["output"];
