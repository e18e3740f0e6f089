/** What a line holds; nothing for one that is no JSON. Some runtimes write a mark of the byte order in front of their first line. */
export function jsonOfLine(line: string): unknown {
  try {
    return JSON.parse(line.startsWith("\ufeff") ? line.slice(1) : line);
  } catch {
    return undefined;
  }
}
