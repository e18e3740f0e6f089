/** Costs of a UTF-16 unit in tokens, but for blanks, words and signs of ASCII, by block: each line holds from its first unit up to the next line's. */
const BLOCKS: readonly (readonly [first: number, cost: number])[] = [
  [0, 0.8], // control characters, as in bytes that are no text
  [0x80, 0.8], // signs
  [0x250, 0.8], // phonetic, combining
  [0x370, 0.4], // Greek
  [0x400, 0.28], // Cyrillic
  [0x530, 0.5], // Armenian
  [0x590, 0.4], // Hebrew, Arabic
  [0x780, 1.2],
  [0x900, 0.36], // scripts of India
  [0xd80, 0.7], // Sinhala
  [0xe00, 0.42], // Thai, Lao
  [0xf00, 1.2], // Tibetan
  [0x1000, 0.6], // Burmese
  [0x10a0, 0.4], // Georgian
  [0x1100, 1.2],
  [0x1200, 1.8], // Ethiopic
  [0x1780, 0.7], // Khmer
  [0x1800, 1.2],
  [0x2000, 0.9], // punctuation, arrows, mathematics
  [0x2500, 0.6], // lines and boxes
  [0x2600, 1],
  [0x3000, 0.75], // kana
  [0x3400, 1.2],
  [0x4e00, 0.8], // Chinese characters
  [0xa000, 1.2],
  [0xac00, 0.65], // Korean
  [0xd7b0, 1], // halves of pairs: emoji and rare characters
];

const SMALL = { whole: 6, perToken: 4 } as const;
const CAPITALS = { whole: 4, perToken: 4 } as const;
/** Letters beyond it are no word but a sequence, such as that of a gene: tokenizers know few pieces of it. */
const LONGEST_WORD = 40;
const SEQUENCE_COST = 0.5;
/** What each letter of the languages of eastern Europe costs beside its word. */
const RARE_COST = 0.8;
/** From this length on, a word that keeps changing between cases and digits is an encoding. */
const DENSE_LENGTH = 16;
const DENSE_FACTOR = 1.25;

/**
 * Tokens that a text takes, roughly, by the shape of its words: within a fifth to a half of what current tokenizers count for prose and
 * code in most scripts, JSON, numbers, and encodings like base64. One pass over the text; empty text costs nothing.
 */
export function textTokens(text: string): number {
  let tokens = 0;
  for (let at = 0; at < text.length; ) {
    const unit = text.charCodeAt(at);
    if (isWordUnit(unit)) {
      const word = wordAt(text, at);
      tokens += word.tokens;
      at = word.end;
    } else if (isBlank(unit)) {
      const end = blankEnd(text, at);
      tokens += blankTokens(text, at, end);
      at = end;
    } else if (unit > 0x20 && unit < 0x80) {
      const end = signsEnd(text, at);
      tokens += signTokens(text, at, end);
      at = end;
    } else {
      tokens += blockCost(unit);
      at += 1;
    }
  }
  return tokens;
}

/** An unbroken run of Latin letters and digits. */
function wordAt(text: string, start: number): { readonly end: number; readonly tokens: number } {
  let at = start;
  let tokens = 0;
  let changes = 0;
  while (at < text.length && isWordUnit(text.charCodeAt(at))) {
    const end = segmentEnd(text, at);
    const length = end - at;
    if (isDigit(text.charCodeAt(at))) tokens += Math.ceil(length / 3);
    else tokens += letterTokens(text, at, end);
    changes += 1;
    at = end;
  }
  const length = at - start;
  return { end: at, tokens: length >= DENSE_LENGTH && changes * 6 >= length ? tokens * DENSE_FACTOR : tokens };
}

function letterTokens(text: string, start: number, end: number): number {
  const { whole, perToken } = isCapital(text.charCodeAt(end - 1)) ? CAPITALS : SMALL;
  const length = Math.min(end - start, LONGEST_WORD);
  let tokens = length <= whole ? 1 : 1 + (length - whole) / perToken;
  for (let at = start; at < end; at++) if (isRare(text.charCodeAt(at))) tokens += RARE_COST;
  for (let at = start + length; at < end; at++)
    tokens += text.charCodeAt(at) === text.charCodeAt(at - 1) ? 1 / perToken : SEQUENCE_COST;
  return tokens;
}

/** Where a run of digits, of capitals, or of a capital and small letters ends: tokenizers cut there. */
function segmentEnd(text: string, start: number): number {
  let at = start + 1;
  const first = text.charCodeAt(start);
  if (isDigit(first)) {
    while (isDigit(text.charCodeAt(at))) at += 1;
    return at;
  }
  if (isCapital(first) && isCapital(text.charCodeAt(at))) {
    while (isCapital(text.charCodeAt(at))) at += 1;
    return at;
  }
  while (isSmall(text.charCodeAt(at))) at += 1;
  return at;
}

function blankEnd(text: string, start: number): number {
  let at = start + 1;
  while (isBlank(text.charCodeAt(at))) at += 1;
  return at;
}

/** A single blank belongs to the word behind it, a line break to the sign before it. */
function blankTokens(text: string, start: number, end: number): number {
  const length = end - start;
  const first = text.charCodeAt(start);
  if (length === 1) return first === 0x20 || (first === 0x0a && isSign(text.charCodeAt(start - 1))) ? 0 : 1;
  let tokens = 1 + length / 100;
  for (let at = start; at < end; at++) if (text.charCodeAt(at) === 0x0a) tokens += 1 / 24;
  return tokens;
}

function signsEnd(text: string, start: number): number {
  let at = start + 1;
  while (isSign(text.charCodeAt(at))) at += 1;
  return at;
}

/** Signs are joined by two or three; one that repeats is joined by many. */
function signTokens(text: string, start: number, end: number): number {
  let changes = 1;
  for (let at = start + 1; at < end; at++) if (text.charCodeAt(at) !== text.charCodeAt(at - 1)) changes += 1;
  return 0.6 + changes * 0.4 + (end - start - changes) / 32;
}

function blockCost(unit: number): number {
  let low = 0;
  let high = BLOCKS.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((BLOCKS[middle]?.[0] ?? 0) <= unit) low = middle;
    else high = middle - 1;
  }
  return BLOCKS[low]?.[1] ?? 1;
}

function isBlank(unit: number): boolean {
  return unit === 0x20 || (unit >= 0x09 && unit <= 0x0d);
}
function isWordUnit(unit: number): boolean {
  return isSmall(unit) || isCapital(unit) || isDigit(unit);
}
/** Latin letters with accents, whatever their case, are part of a word like small ones. */
function isSmall(unit: number): boolean {
  if (unit < 0x80) return unit >= 0x61 && unit <= 0x7a;
  return (unit >= 0xc0 && unit < 0x250) || (unit >= 0x1e00 && unit < 0x1f00);
}
/** Latin letters that the languages of western Europe do without. */
function isRare(unit: number): boolean {
  return unit >= 0x100 && unit < 0x180;
}
function isCapital(unit: number): boolean {
  return unit >= 0x41 && unit <= 0x5a;
}
function isDigit(unit: number): boolean {
  return unit >= 0x30 && unit <= 0x39;
}
function isSign(unit: number): boolean {
  return unit > 0x20 && unit < 0x80 && !isWordUnit(unit);
}
