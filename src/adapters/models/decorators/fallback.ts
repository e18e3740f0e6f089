import { ModelError, type ModelErrorKind } from "../../../domain/errors.js";
import type { ChatRequest, ModelPort } from "../../../ports/model.js";
import { checkOptions } from "../common/check-options.js";
import { checkModels, decoratedModel } from "./decorated-model.js";
import { type DecoratorRuntime, platformRuntime } from "../common/decorator-runtime.js";
import { ModelAttempts } from "./model-attempts.js";
import { modelErrorWith } from "./model-error-with.js";
import type { AfterOutput } from "./retrying.js";

/** When the next model is asked in the place of one that failed. */
export type FallbackOptions = {
  /** The errors after which the next model is asked. Default `FALLBACK_KINDS`. An abort of the request never falls through. */
  readonly on?: readonly ModelErrorKind[] | ((error: ModelError) => boolean) | undefined;
  /** How long a model that failed so is asked after the others, in milliseconds; longer where its provider asked for it. Default 30,000; 0: never. */
  readonly coolDownMs?: number | undefined;
  /** After output began: fail (default), or `"reset"` and go on with the next model. Text never comes twice either way. */
  readonly afterOutput?: AfterOutput | undefined;
  /** Default: the platform's clock. */
  readonly runtime?: Pick<DecoratorRuntime, "elapsed"> | undefined;
};

/** The errors that say nothing about the request, so that another model may answer it. */
export const FALLBACK_KINDS: readonly ModelErrorKind[] = Object.freeze([
  "transport",
  "rate-limit",
  "overloaded",
  "timeout",
  "server",
  "auth",
  "response-parse",
] as const);

const OPTION_NAMES = [
  "on",
  "coolDownMs",
  "afterOutput",
  "runtime",
] as const satisfies readonly (keyof FallbackOptions)[];

type Candidate = { readonly model: ModelPort; coolUntil: number };

/**
 * Asks the models in order until one answers; one that failed lately comes after the others. Describes itself as the first. A model that
 * the request names (`options.model`) is asked for at the first, and at those that describe themselves by the same provider and model; the
 * others answer as what they are. When none answers, the error is the last one's: `retryable` where any was, with the usage of all, and
 * all of them as its cause. Throws `CompositionError("invalid-config")` for an empty list and for options that make no sense.
 */
export function fallback(models: readonly ModelPort[], options: FallbackOptions = {}): ModelPort {
  checkModels("fallback", models);
  checkOptions("fallback", options, OPTION_NAMES, { coolDownMs: 0 });
  const { on = FALLBACK_KINDS, coolDownMs = 30_000, afterOutput = "give-up", runtime = platformRuntime } = options;
  const fallsThrough = typeof on === "function" ? on : (error: ModelError) => on.includes(error.kind);
  const candidates = models.map((model): Candidate => ({ model, coolUntil: Number.NEGATIVE_INFINITY }));

  return decoratedModel("fallback", models, async (request, onChunk) => {
    const attempts = new ModelAttempts(onChunk);
    const failures: ModelError[] = [];
    for (const candidate of inOrder(candidates, runtime.elapsed())) {
      try {
        const asked = knowsName(candidate.model, models[0]) ? request : withoutName(request);
        const response = await attempts.run(candidate.model, asked, "fallback");
        candidate.coolUntil = Number.NEGATIVE_INFINITY;
        return response;
      } catch (error) {
        if (!(error instanceof ModelError)) throw error;
        if (request.signal.aborted) throw attempts.failure(error);
        failures.push(error);
        const isOver = !fallsThrough(error);
        // One that stood in for another and could not would else be asked first, and alone, the next time.
        if (!isOver || failures.length > 1) candidate.coolUntil = coolUntil(error, coolDownMs, runtime.elapsed());
        if (isOver) break;
        if (attempts.outputBegan && afterOutput === "give-up") break;
      }
    }
    throw failed(failures, attempts);
  });
}

function inOrder(candidates: readonly Candidate[], now: number): readonly Candidate[] {
  const ready = candidates.filter(({ coolUntil }) => coolUntil <= now);
  const cooling = candidates.filter(({ coolUntil }) => coolUntil > now);
  return [...ready, ...cooling.sort((a, b) => a.coolUntil - b.coolUntil)];
}

function coolUntil(error: ModelError, coolDownMs: number, now: number): number {
  return coolDownMs === 0 ? Number.NEGATIVE_INFINITY : now + Math.max(coolDownMs, error.retryAfterMs ?? 0);
}

/** A name means the same only to models that describe themselves alike. */
function knowsName(model: ModelPort, first: ModelPort | undefined): boolean {
  if (model === first) return true;
  const [own, its] = [model.describe?.(), first?.describe?.()];
  return own !== undefined && own.provider === its?.provider && own.model === its?.model;
}

function withoutName(request: ChatRequest): ChatRequest {
  const { model: _, ...options } = request.options;
  return { ...request, options };
}

function failed(failures: readonly ModelError[], attempts: ModelAttempts): ModelError {
  const last = failures.at(-1) ?? new ModelError("request-build", "no model was asked");
  if (failures.length < 2) return attempts.failure(last);
  return modelErrorWith(last, {
    usage: attempts.spent,
    retryable: failures.some(({ retryable }) => retryable),
    cause: new AggregateError(failures, `${failures.length} models failed`),
  });
}
