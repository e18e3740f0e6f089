import { ProtocolError, SdkError, SdkErrorCode, SdkHttpError, UnauthorizedError } from "@modelcontextprotocol/client";
import { describeThrown } from "../../../domain/describe-thrown.js";
import { ToolError } from "../../../domain/errors.js";
import { isJsonObject } from "../../../domain/json.js";
import { safeLine } from "../../../domain/safe-label.js";
import type { CallClock } from "./call-clock.js";
import { NoResult } from "./decode-result.js";
import { jsonOfLine } from "./json-line.js";
import type { Secrets } from "./secrets.js";
import { isUnheard } from "./unheard.js";

const MAX_REASON = 300;
const NO_NOTIFICATION = /^Uncaught error in notification handler: /;

/** One line that says why a server failed, without secrets and without what an address holds. */
export function reasonOf(error: unknown, secrets: Secrets): string {
  if (error instanceof UnauthorizedError) return "it refused the credentials";
  // The SDK tells in pages what a message is not.
  if (error instanceof Error && (/Zod/.test(error.name) || NO_NOTIFICATION.test(error.message)))
    return "it sent what is no message of the protocol";
  if (error instanceof SdkError && error.code === SdkErrorCode.InvalidResult) return invalidResult(error.message);
  if (error instanceof SdkHttpError) {
    const { status } = error;
    if (status === 401 || status === 403) return `it refused the credentials (${status})`;
    const answered = `it answered ${status} ${safeLine(secrets.hide(error.data.statusText ?? ""), 40)}`.trim();
    const words = wordsIn(error);
    return lineOf(words === undefined ? answered : `${answered}: ${words}`, secrets);
  }
  const cause = error instanceof Error && error.cause instanceof Error ? `: ${error.cause.message}` : "";
  return lineOf(`${describeThrown(error)}${cause}`, secrets);
}

/** Hidden twice: before a secret is cut, and where it showed behind what was taken out of the text. */
function lineOf(text: string, secrets: Secrets): string {
  return secrets.hide(safeLine(secrets.hide(text), MAX_REASON));
}

/** The SDK says in pages what is wrong with an answer to its handshake: where it is wrong will do. */
function invalidResult(message: string): string {
  const places = [...message.matchAll(/"path": \[([^\]]*)\]/g)].map(([, path = ""]) => path.replace(/[\s"]/g, ""));
  return safeLine(`${message.split(":")[0] ?? ""} (${places.join("; ").replaceAll(",", "/")})`, MAX_REASON);
}

/** True where the server has forgotten the session, so that nothing was executed. The protocol says 404; many servers say 400, in words. */
export function isSessionGone(error: unknown): boolean {
  if (!(error instanceof SdkHttpError)) return false;
  const { status, text } = error.data;
  return status === 404 || (status === 400 && typeof text === "string" && /session/i.test(text.slice(0, 2_000)));
}

/** What a server says in an error of the protocol that it sends with a status of its own. Its credentials are refused whatever it says. */
function wordsIn({ data: { status, text } }: SdkHttpError): string | undefined {
  if (typeof text !== "string" || status === 401 || status === 403) return undefined;
  const answer = jsonOfLine(text);
  // What stands in between speaks JSON too.
  const error = isJsonObject(answer) && answer["jsonrpc"] === "2.0" ? answer["error"] : undefined;
  return isJsonObject(error) && typeof error["message"] === "string" ? error["message"] : undefined;
}

/** Why a call has no result, as the port tells it; `server` is a label already. */
export function callError(error: unknown, server: string, clock: CallClock, secrets: Secrets): ToolError {
  if (clock.givenUp === "aborted") return new ToolError("aborted", `the call to server "${server}" was aborted`);
  if (clock.givenUp === "silent") return new ToolError("timeout", `server "${server}" was silent for too long`);
  if (clock.givenUp === "too-long") return new ToolError("timeout", `the call to server "${server}" took too long`);
  if (error instanceof ToolError) return error;
  if (error instanceof NoResult)
    return new ToolError("invocation-failed", `server "${server}": ${secrets.hide(error.message)}`);
  if (error instanceof ProtocolError) {
    // The model may learn from what the server says.
    const kind = isUnheard(error) ? "transport" : "invocation-failed";
    return new ToolError(kind, `server "${server}": ${reasonOf(error, secrets)}`);
  }
  const words = error instanceof SdkHttpError ? wordsIn(error) : undefined;
  if (words !== undefined) return new ToolError("invocation-failed", `server "${server}": ${lineOf(words, secrets)}`);
  if (error instanceof SdkError && error.code === SdkErrorCode.ConnectionClosed)
    return new ToolError("transport", `server "${server}" went away during the call`);
  return new ToolError("transport", `server "${server}" could not be asked: ${reasonOf(error, secrets)}`);
}
