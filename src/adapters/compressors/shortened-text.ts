/** What the note about what is missing may take. */
export const NOTE_ROOM = 200;

/** The beginning and the end of a text, two thirds and one third of `length` characters, and between them what `note` says of the rest. Splits no pair of surrogates. */
export function shortenedText(text: string, length: number, note: (leftOut: number) => string): string {
  if (text.length <= length + NOTE_ROOM) return text;
  let head = Math.ceil((length * 2) / 3);
  let tail = text.length - (length - head);
  if (isHigh(text.charCodeAt(head - 1))) head -= 1;
  if (isLow(text.charCodeAt(tail))) tail += 1;
  return `${text.slice(0, head)}\n[${note(tail - head)}]\n${text.slice(tail)}`;
}

function isHigh(unit: number): boolean {
  return unit >= 0xd800 && unit < 0xdc00;
}

function isLow(unit: number): boolean {
  return unit >= 0xdc00 && unit < 0xe000;
}
