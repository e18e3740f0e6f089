import type { ResultPage } from "./result-store.js";

/** A page of a text that is at hand. Cost grows with the whole text. */
export function pageOf(
  text: string,
  { offset, limit }: { readonly offset: number; readonly limit: number },
): ResultPage {
  let point = 0;
  let start = text.length;
  let end = text.length;
  for (let at = 0; at < text.length; point++) {
    if (point === offset) start = at;
    if (point === offset + limit) end = at;
    at += (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1;
  }
  return { text: text.slice(start, Math.max(start, end)), total: point };
}
