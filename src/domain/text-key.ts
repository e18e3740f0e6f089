/**
 * Databases turn a lone surrogate into U+FFFD, and refuse a text with NUL or cut it there: such texts are kept as JSON text, which begins
 * with a quote, all others as they are.
 */
export function textKey(text: string): string {
  return text.startsWith('"') || text.includes("\0") || !text.isWellFormed() ? JSON.stringify(text) : text;
}

/** The inverse of `textKey`; nothing for what it cannot have made. */
export function textOfKey(key: string): string | undefined {
  if (!key.startsWith('"')) return key;
  try {
    const text: unknown = JSON.parse(key);
    return typeof text === "string" ? text : undefined;
  } catch {
    return undefined;
  }
}
