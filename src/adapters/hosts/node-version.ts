const NEEDED = [22, 18] as const;

/** Why this Node version cannot run the package; nothing when it can. Imports nothing, so that an old Node gets to say it. */
export function nodeComplaint(version: string): string | undefined {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  if (major > NEEDED[0] || (major === NEEDED[0] && minor >= NEEDED[1])) return undefined;
  return `ennead needs Node.js ${NEEDED.join(".")} or newer; this is ${version}.`;
}
