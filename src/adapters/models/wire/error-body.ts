import { readText } from "./read-text.js";
import type { RequestWatch } from "./request-watch.js";

const PATIENCE_MS = 2_000;
const MAX_BYTES = 64 * 1024;

/** What can be read of the body of an error answer: one that hangs, breaks or is too long never hides its status. Throws after an abort. */
export async function readErrorBody(response: Response, watch: RequestWatch): Promise<string> {
  let body = "";
  watch.settle(PATIENCE_MS);
  try {
    await readText(response, watch, MAX_BYTES, (text) => {
      body += text;
    });
  } catch {
    watch.check();
  }
  return body;
}
