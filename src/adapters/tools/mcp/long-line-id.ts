import type { LongLine } from "./line-splitter.js";

const VERSION = String.raw`"jsonrpc"\s*:\s*"2\.0"`;
const FIRST = String.raw`^\s*\{\s*(?:${VERSION}\s*,\s*)?`;
const ID = String.raw`"id"\s*:\s*(\d{1,15}|"[^"\\]{1,100}")`;
const AT_TAIL = new RegExp(String.raw`${ID}\s*(?:,\s*${VERSION}\s*)?\}\s*$`);

/** The id of a message that is too long to be read, as far as its ends tell. */
export type IdOfLongLine = (line: LongLine) => string | number | undefined;

/** Of answers; a question of the other side has an id of its own that means nothing here. */
export const idOfAnswer = idBeside("result|error");

export const idOfRequest = idBeside("method|params");

function idBeside(members: string): IdOfLongLine {
  const atHead = new RegExp(String.raw`${FIRST}${ID}\s*,\s*(?:${VERSION}\s*,\s*)?"(?:${members})"`);
  const isSuch = new RegExp(String.raw`${FIRST}"(?:${members})"`);
  return ({ head, tail }) => {
    const [, id] = atHead.exec(head) ?? (isSuch.test(head) ? AT_TAIL.exec(tail) : null) ?? [];
    return id === undefined ? undefined : (JSON.parse(id) as string | number);
  };
}
