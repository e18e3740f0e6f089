import tseslint from "typescript-eslint";

const defaultExport = {
  selector: "ExportDefaultDeclaration",
  message: "Named exports only.",
};

const viaRuntime = "Take it from the runtime or the step scope, so that a turn can be replayed.";

/** What the domain and the loop may not touch: a turn must replay the same from its records. */
const deterministic = {
  "no-restricted-globals": [
    "error",
    ...[
      "Date",
      "performance",
      "crypto",
      "setTimeout",
      "setInterval",
      "setImmediate",
      "queueMicrotask",
      "globalThis",
      "global",
    ].map((name) => ({ name, message: viaRuntime })),
  ],
  "no-restricted-properties": [
    "error",
    { object: "Math", property: "random", message: viaRuntime },
    { object: "AbortSignal", property: "timeout", message: viaRuntime },
    ...["env", "hrtime", "nextTick", "uptime"].map((property) => ({
      object: "process",
      property,
      message: viaRuntime,
    })),
    ...["all", "race", "any", "allSettled"].map((property) => ({ object: "Promise", property, message: viaRuntime })),
  ],
  "no-restricted-imports": [
    "error",
    { patterns: [{ regex: "^node:", message: "No platform modules here: adapters bring them." }] },
  ],
  "no-restricted-syntax": [
    "error",
    defaultExport,
    { selector: "ImportExpression[source.value=/^node:/]", message: "No platform modules here: adapters bring them." },
  ],
};

export default tseslint.config(
  { ignores: ["dist/", "coverage/", "node_modules/"] },
  {
    linterOptions: { reportUnusedDisableDirectives: "error" },
    rules: {
      eqeqeq: "error",
      "no-async-promise-executor": "error",
      "no-constant-condition": ["error", { checkLoops: false }],
      "no-debugger": "error",
      "no-promise-executor-return": ["error", { allowVoid: true }],
      "no-self-compare": "error",
      "no-unsafe-finally": "error",
      "no-var": "error",
      "prefer-const": "error",
    },
  },
  {
    files: ["**/*.ts"],
    languageOptions: {
      parser: tseslint.parser,
      parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname },
    },
    plugins: { "@typescript-eslint": tseslint.plugin },
    rules: {
      "@typescript-eslint/await-thenable": "error",
      "@typescript-eslint/consistent-type-imports": ["error", { fixStyle: "inline-type-imports" }],
      "@typescript-eslint/no-explicit-any": "error",
      "@typescript-eslint/no-floating-promises": "error",
      "@typescript-eslint/no-misused-promises": "error",
      "@typescript-eslint/only-throw-error": "error",
      "@typescript-eslint/return-await": ["error", "error-handling-correctness-only"],
      "@typescript-eslint/switch-exhaustiveness-check": ["error", { considerDefaultExhaustiveForUnions: true }],
    },
  },
  {
    files: ["src/**/*.ts"],
    linterOptions: { noInlineConfig: true },
    rules: {
      "@typescript-eslint/no-unsafe-argument": "error",
      "@typescript-eslint/no-unsafe-assignment": "error",
      "@typescript-eslint/no-unsafe-call": "error",
      "@typescript-eslint/no-unsafe-member-access": "error",
      "@typescript-eslint/no-unsafe-return": "error",
      "max-lines": ["error", { max: 300, skipBlankLines: true, skipComments: true }],
      "max-lines-per-function": ["error", { max: 60, skipBlankLines: true, skipComments: true }],
      "no-restricted-syntax": ["error", defaultExport],
    },
  },
  {
    files: ["src/**/*.ts"],
    ignores: [
      "src/adapters/observers/console.ts",
      "src/adapters/hosts/**",
      "src/agent/system-runtime.ts",
      "src/testkit/claims/run-claims.ts",
    ],
    rules: { "no-console": "error" },
  },
  {
    files: ["src/domain/**/*.ts", "src/agent/**/*.ts"],
    ignores: ["src/agent/in-process-scope.ts", "src/agent/system-runtime.ts", "src/testkit/claims/run-claims.ts"],
    rules: deterministic,
  },
  {
    files: ["test/**/*.ts"],
    rules: { "@typescript-eslint/only-throw-error": "off" },
  },
);
