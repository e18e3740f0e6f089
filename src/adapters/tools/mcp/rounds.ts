import { ProtocolError, ProtocolErrorCode } from "@modelcontextprotocol/client";
import { isJsonObject, type Json, type JsonObject } from "../../../domain/json.js";
import { safeLabel } from "../../../domain/safe-label.js";
import { NoResult } from "./decode-result.js";
import type { ElicitationReply } from "./elicitation.js";

/** How a server is asked, and whoever it asks in turn. */
export type Asking = {
  readonly ask: (params: JsonObject) => Promise<unknown>;
  /** Never rejects. */
  readonly elicit: (question: JsonObject) => Promise<ElicitationReply>;
  /** For a server that wants to be asked again, and nothing to be known. */
  readonly pause: () => Promise<void>;
};

/** What a server wants to be told before it answers, by names of its own; `state` is for itself. */
type Wanted = {
  readonly questions: readonly (readonly [name: string, question: JsonObject])[];
  readonly state: string | undefined;
};

const MAX_ROUNDS = 10;

/**
 * Asks until there is an answer: in the protocol of 2026 a server that wants to know something from the user says so in place of one, and is asked
 * again with what the user said; in that of 2025 it may refuse until the user has visited an address. Rejects with `NoResult` for what is neither,
 * for a server that never has enough, and where it wants what only others could give; nobody is asked anything then.
 */
export async function askInRounds(params: JsonObject, { ask, elicit, pause }: Asking): Promise<unknown> {
  let asked = params;
  for (let round = 0; round <= MAX_ROUNDS; round += 1) {
    const answer = await ask(asked).catch(async (error: unknown) => {
      if (round === MAX_ROUNDS || !(await haveVisited(error, elicit))) throw error;
      return undefined;
    });
    if (answer === undefined) continue;
    const wanted = wantedBy(answer);
    if (wanted === undefined) return answer;
    if (round === MAX_ROUNDS) break;
    asked = { ...params, ...(await told(wanted, { elicit, pause })) };
  }
  throw new NoResult(`it still wants to know more after ${MAX_ROUNDS} rounds`);
}

/** True when the user has agreed to visit every address without which the server does nothing. */
async function haveVisited(error: unknown, elicit: Asking["elicit"]): Promise<boolean> {
  if (!(error instanceof ProtocolError) || error.code !== ProtocolErrorCode.UrlElicitationRequired) return false;
  const { elicitations } = isJsonObject(error.data) ? error.data : {};
  const pages = Array.isArray(elicitations) ? (elicitations as readonly Json[]).filter(isJsonObject) : [];
  const replies = await Promise.all(pages.map(async (page) => elicit({ ...page, mode: "url" })));
  return replies.length > 0 && replies.every(({ action }) => action === "accept");
}

async function told({ questions, state }: Wanted, { elicit, pause }: Omit<Asking, "ask">): Promise<JsonObject> {
  if (questions.length === 0) await pause();
  const replies = questions.map(async ([name, question]) => [name, await elicit(question)] as const);
  return {
    ...(replies.length === 0 ? undefined : { inputResponses: Object.fromEntries(await Promise.all(replies)) }),
    ...(state === undefined ? undefined : { requestState: state }),
  };
}

function wantedBy(answer: unknown): Wanted | undefined {
  const { resultType, inputRequests, requestState } = isJsonObject(answer) ? answer : {};
  if (resultType === undefined || resultType === "complete") return undefined;
  if (resultType !== "input_required")
    throw new NoResult(`the answer is of the type ${safeLabel(String(resultType))}, which is not supported`);
  const questions = Object.entries(requestsOf(inputRequests)).map(
    ([name, request]) => [name, questionOf(request)] as const,
  );
  const state = typeof requestState === "string" ? requestState : undefined;
  if (questions.length === 0 && state === undefined) throw new NoResult("it wants to know more, and does not say what");
  return { questions, state };
}

function requestsOf(requests: Json | undefined): JsonObject {
  if (requests === undefined || requests === null) return {};
  if (!isJsonObject(requests)) throw new NoResult("it wants to know what is no list of requests");
  return requests;
}

function questionOf(request: Json): JsonObject {
  const { method, params } = isJsonObject(request) ? request : {};
  if (typeof method !== "string") throw new NoResult("it wants to know what is no request");
  if (method !== "elicitation/create") throw new NoResult(`it asks for ${safeLabel(method)}, which is not supported`);
  return isJsonObject(params) ? params : {};
}
