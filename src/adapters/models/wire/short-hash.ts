/** FNV-1a over UTF-16 units, as eight hexadecimal digits; another `salt` gives another hash of the same text. No secret hides in it. */
export function shortHash(text: string, salt: number): string {
  let value = 0x811c9dc5 ^ salt;
  for (let at = 0; at < text.length; at++) value = Math.imul(value ^ text.charCodeAt(at), 0x01000193);
  return (value >>> 0).toString(16).padStart(8, "0");
}
