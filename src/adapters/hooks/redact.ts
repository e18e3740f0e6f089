import { CompositionError } from "../../domain/errors.js";
import { checkFields } from "../../domain/known-fields.js";
import type { MessageInput } from "../../domain/message.js";
import type { PipelineHook } from "../../ports/hook.js";
import { defineHook } from "./define-hook.js";
import { blockedResponse } from "./guarded-text.js";
import { type RedactPattern, Redaction } from "./redaction.js";
import { redactedCall, redactedMessage, redactedParts, redactedResult, redactedTool } from "./redacted-message.js";

export type { RedactPattern } from "./redaction.js";

/** Where is redacted. */
export type RedactPlace = "input" | "request" | "reply" | "arguments" | "results";

/** What is redacted, and where. */
export type RedactOptions = {
  /** Patterns without look-around and back references, which take a time that grows with the text alone. A bare one is called `pattern`. */
  readonly patterns?: readonly (RegExp | RedactPattern)[] | undefined;
  /** Texts that must never get through, as they are and as they stand in addresses, forms, JSON and base64; a function is asked each time. */
  readonly secrets?: readonly string[] | (() => readonly string[]) | undefined;
  /**
   * Default all. `input`: what the user says, at first and while the turn runs, before it is stored. `request`: everything the model is sent. `reply`: what it answers, whole or cut short, before that is stored.
   * `arguments`: what tools get. `results`: what they give, before it is stored.
   */
  readonly places?: readonly RedactPlace[] | undefined;
  /** Default "redact". */
  readonly name?: string | undefined;
  readonly before?: readonly string[] | undefined;
  readonly after?: readonly string[] | undefined;
};

const PLACES: readonly RedactPlace[] = ["input", "request", "reply", "arguments", "results"];

/**
 * Puts `[redacted <name>]` in place of what patterns and secrets find, also where it is split over the parts of one message. What could not be
 * looked through gets nowhere: the request is not sent, the call does not run, the reply and the result are withheld. Text that is streamed is
 * shown as it comes, so with `reply` an agent that must show nothing runs with `streaming: false`. Pictures, files and what a provider encrypted
 * are not looked into. Throws `CompositionError("invalid-config")` for options that would find nothing, and for patterns that cannot be matched in
 * linear time.
 */
export function redact(options: RedactOptions): PipelineHook {
  const redaction = redactionOf(options);
  const { name = "redact", before, after, places = PLACES } = options;
  const said = (given: readonly MessageInput[]) => ({
    input: given.map((message) => redactedMessage(redaction, message)),
  });
  const at = (place: RedactPlace): true | undefined => (places.includes(place) ? true : undefined);
  return defineHook(name, {
    before,
    after,
    onFailure: { afterModel: "withhold", beforeTool: "error-result", afterTool: "error-result" },
    beforeTurn: at("input") && (({ input }, context) => context.next(said(input))),
    beforeSteering: at("input") && (({ input }, context) => context.next(said(input))),
    beforeModel:
      at("request") &&
      (({ messages, tools }, context) =>
        context.next({
          messages: messages.map((message) => redactedMessage(redaction, message)),
          tools: tools.map((tool) => redactedTool(redaction, tool)),
        })),
    afterModel:
      at("reply") &&
      (({ response }, context) => {
        try {
          const parts = redactedParts(redaction, response.parts);
          return parts === response.parts ? undefined : context.next({ response: { ...response, parts } });
        } catch {
          // A throw here would be told and the reply kept.
          return context.next({ response: blockedResponse(response, "it could not be redacted") });
        }
      }),
    beforeTool:
      at("arguments") &&
      (({ call }, context) => {
        const redacted = redactedCall(redaction, call);
        return redacted === call ? undefined : context.next({ call: redacted });
      }),
    afterTool: at("results") && (({ result }, context) => context.next({ result: redactedResult(redaction, result) })),
  });
}

function redactionOf(options: RedactOptions): Redaction {
  checkOptions(options);
  const { patterns = [], secrets = [] } = options;
  const named = patterns.map((pattern) => (pattern instanceof RegExp ? { name: "pattern", pattern } : pattern));
  const given = typeof secrets === "function" ? secrets : () => secrets;
  try {
    return new Redaction(named, given);
  } catch (cause) {
    throw new CompositionError("invalid-config", "redact: a pattern cannot be matched in linear time", { cause });
  }
}

function checkOptions(options: RedactOptions): void {
  checkFields("redact", options, ["patterns", "secrets", "places", "name", "before", "after"]);
  const { patterns = [], secrets = [], places = PLACES, name = "redact" } = options;
  const texts: readonly unknown[] = Array.isArray(secrets) ? secrets : [];
  const faults = [
    [!Array.isArray(patterns) || !patterns.every(isPattern), "patterns is a list of RegExp or { name, pattern }"],
    [
      !Array.isArray(secrets) && typeof secrets !== "function",
      "secrets is a list of texts, or a function that gives one",
    ],
    [texts.some((secret) => typeof secret !== "string" || secret === ""), "a secret is a text that says something"],
    [
      Array.isArray(patterns) && patterns.length === 0 && typeof secrets !== "function" && texts.length === 0,
      "it would find nothing: give patterns or secrets",
    ],
    [
      !Array.isArray(places) || !places.every((place: unknown) => PLACES.some((known) => known === place)),
      `places is a list of ${PLACES.join(", ")}`,
    ],
    [typeof name !== "string" || name === "", "name is a text"],
  ] as const;
  const fault = faults.find(([wrong]) => wrong);
  if (fault !== undefined) throw new CompositionError("invalid-config", `redact: ${fault[1]}`);
}

function isPattern(value: unknown): boolean {
  if (value instanceof RegExp) return true;
  return (
    typeof value === "object" &&
    value !== null &&
    "name" in value &&
    "pattern" in value &&
    value.pattern instanceof RegExp
  );
}
