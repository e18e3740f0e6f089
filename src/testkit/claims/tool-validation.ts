import { copyJson } from "../../domain/adopt.js";
import type { JsonObject } from "../../domain/json.js";
import type { Validation } from "../../ports/tool-provider.js";
import type { Claim } from "./claim.js";
import { ClaimFailure, expectEqual, expectThat } from "./expectations.js";
import { given, type ToolProviderCapability, type ToolProviderFixture } from "./tool-provider-fixture.js";

/** Shorter strings turn up in any text by chance. */
const TELLING_LENGTH = 6;

/** How arguments are judged. */
export const toolValidationClaims: readonly Claim<ToolProviderFixture, ToolProviderCapability>[] = [
  {
    id: "tools-validate-accepts",
    title: "arguments that work are accepted",
    needs: "validation",
    check(fixture) {
      expectThat(validate(fixture, fixture.call.arguments).ok, "the arguments of a working call are accepted");
    },
  },
  {
    id: "tools-validate-is-pure",
    title: "validate gives the same answer again and changes nothing in the arguments",
    needs: "validation",
    check(fixture) {
      for (const sample of [fixture.call.arguments, invalidOf(fixture).arguments]) {
        const args = copyJson(sample, "arguments") as JsonObject;
        const first = structuredClone(validate(fixture, args));
        expectEqual(args, sample, "the arguments after validate");
        expectEqual(validate(fixture, args), first, "the second answer");
      }
    },
  },
  {
    id: "tools-validate-names-the-place",
    title: "a refusal names the path of each fault as a JSON pointer and what was expected there",
    needs: "validation",
    check(fixture) {
      const { path } = invalidOf(fixture);
      const issues = refusal(fixture);
      expectThat(
        issues.every((issue) => issue.path === "" || issue.path.startsWith("/")),
        "every path is a JSON pointer",
      );
      expectThat(
        issues.every((issue) => issue.expected !== ""),
        "every issue says what was expected",
      );
      expectThat(
        issues.some((issue) => issue.path === path),
        `an issue names ${path}`,
      );
    },
  },
  {
    id: "tools-validate-quotes-nothing",
    title: "a refusal holds no value from the arguments",
    needs: "validation",
    check(fixture) {
      const text = JSON.stringify(refusal(fixture));
      for (const value of strings(invalidOf(fixture).arguments)) {
        expectThat(value.length < TELLING_LENGTH || !text.includes(value), "no issue quotes a value of the arguments");
      }
    },
  },
];

function validate({ provider, call }: ToolProviderFixture, args: JsonObject): Validation {
  const validation = provider.validate?.(call.name, args);
  return given(validation, "a provider with validate", "validation");
}

function invalidOf(fixture: ToolProviderFixture): NonNullable<ToolProviderFixture["invalid"]> {
  return given(fixture.invalid, "invalid", "validation");
}

function refusal(fixture: ToolProviderFixture): readonly { readonly path: string; readonly expected: string }[] {
  const validation = validate(fixture, invalidOf(fixture).arguments);
  if (validation.ok) throw new ClaimFailure("the invalid arguments are refused");
  expectThat(validation.issues.length > 0, "a refusal names at least one issue");
  return validation.issues;
}

function strings(value: unknown): readonly string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(strings) : [];
}
