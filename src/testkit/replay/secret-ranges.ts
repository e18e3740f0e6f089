/** A piece of a text, in UTF-16 units; `end` is behind it. */
export type Range = { readonly start: number; readonly end: number };

/** What a secret that was declared looks like in a text: as it is, in JSON text, in hexadecimal, and within base64 at each alignment. */
export type DeclaredSecret = { readonly plain: readonly string[]; readonly base64: readonly string[] };

const SHORTEST = 4;
/** Fewer characters of base64 would be found by chance. */
const SHORTEST_BASE64 = 6;
/** Larger runs of base64 are media. */
const LONGEST_DECODED = 64 * 1024;
const LAYERS = 2;

const NAMES =
  "(?:x[_-])?api[_-]?key|(?:access|refresh|auth|id|session|bearer|csrf)[_-]?token|client[_-]?secret|secret[_-]?(?:access[_-]?)?key" +
  "|private[_-]?key|secret|token|passwd|password|passphrase|(?:proxy-)?authorization|(?:set-)?cookie|credentials?";

/** Names of fields whose text is a secret whatever it is. */
const SECRET_NAME = new RegExp(`^(?:[a-z0-9]+[_-])*(?:${NAMES})$`, "i");

/** Shapes of secrets. Where a shape has a group, that is the secret. All are linear: no piece of a repetition can be matched in two ways. */
const SHAPES: readonly RegExp[] = [
  /\b(?:sk|pk|rk)-[A-Za-z0-9_-]{16,}/dg,
  /\b(?:sk|pk|rk|whsec)_(?:live_|test_)?[A-Za-z0-9]{16,}/dg,
  /\b(?:gh[oprsu]_|github_pat_|glpat-|xox[abeprs]-|xapp-|hf_|npm_|gsk_|xai-|pplx-|r8_|AIza|ya29\.|AKIA|ASIA)[\w.-]{12,}/dg,
  /\bey[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]*/dg,
  /\b(?:bearer|basic)[ \t]+((?=[A-Za-z._~+/=-]{0,200}\d)[\w.~+/=-]{8,})/dgi,
  /-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----(?:[^]{0,8192}?-----END [A-Z ]{0,30}PRIVATE KEY-----|[^-]*)/dg,
  /\b[a-z][a-z0-9+.-]{0,30}:\/\/[^\s/:@]{0,200}:([^\s/@]{1,400})@/dgi,
  new RegExp(`\\b(?:${NAMES})"\\s{0,8}:\\s{0,8}"((?:[^"\\\\]|\\\\.)+)`, "dgi"),
  new RegExp(`\\b(?:${NAMES})\\\\"\\s{0,8}:\\s{0,8}\\\\"((?:[^"\\\\]|\\\\[^"])+)`, "dgi"),
  new RegExp(`\\b(?:${NAMES})=([^\\s"'&;,]{4,})`, "dgi"),
  new RegExp(`\\b(?:${NAMES}):[ \\t]{0,8}((?=[^\\s\\d]{0,200}\\d)[^\\s"',;]{4,})`, "dgi"),
];

/** Whether a field of this name holds a secret. */
export function isSecretName(name: string): boolean {
  return SECRET_NAME.test(name) || SECRET_NAME.test(name.replace(/([a-z0-9])([A-Z])/g, "$1_$2"));
}

/** Throws a RangeError for a secret so short that every text would hold it. */
export function declaredSecret(secret: string): DeclaredSecret {
  if (secret.length < SHORTEST) throw new RangeError(`a secret has at least ${SHORTEST} characters`);
  const bytes = new TextEncoder().encode(secret);
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  const cores = [0, 1, 2].map((before) => base64Core(bytes, before)).filter((core) => core.length >= SHORTEST_BASE64);
  const urlSafe = cores.map((core) => core.replaceAll("+", "-").replaceAll("/", "_"));
  const plain = [secret, JSON.stringify(secret).slice(1, -1), hex, hex.toUpperCase()];
  return { plain: [...new Set(plain)], base64: [...new Set([...cores, ...urlSafe])] };
}

/** What of the base64 of these bytes does not depend on what stands before (that many bytes) and behind them. */
function base64Core(bytes: Uint8Array, before: number): string {
  const text = btoa(String.fromCharCode(...new Uint8Array(before), ...bytes)).replaceAll("=", "");
  return text.slice(Math.ceil((before * 4) / 3), (before + bytes.length) % 3 === 0 ? undefined : -1);
}

/** Where secrets stand in a text, in order, apart from each other. */
export function secretRanges(text: string, declared: readonly DeclaredSecret[], layers = LAYERS): Range[] {
  const ranges: Range[] = [];
  for (const { plain, base64 } of declared) {
    for (const form of plain) ranges.push(...occurrences(text, form));
    for (const core of base64) ranges.push(...occurrences(text, core).map((range) => runAround(text, range)));
  }
  for (const shape of SHAPES) {
    for (const match of text.matchAll(shape)) {
      const [start, end] = match.indices?.[1] ?? match.indices?.[0] ?? [0, 0];
      ranges.push({ start, end });
    }
  }
  if (layers > 0) ranges.push(...encodedRanges(text, declared, layers));
  return merged(ranges);
}

/** Runs that are the base64, or the URL form, of a text that holds a secret. */
function encodedRanges(text: string, declared: readonly DeclaredSecret[], layers: number): Range[] {
  const ranges: Range[] = [];
  const look = (run: RegExp, decode: (text: string) => string | undefined): void => {
    for (const { 0: token, index } of text.matchAll(run)) {
      const decoded = token.length > LONGEST_DECODED ? undefined : decode(token);
      if (decoded !== undefined && secretRanges(decoded, declared, layers - 1).length > 0)
        ranges.push({ start: index, end: index + token.length });
    }
  };
  look(/[A-Za-z0-9+/_-]{16,}={0,2}/g, fromBase64);
  if (text.includes("%")) look(/[\w.~+%-]+/g, fromUrl);
  return ranges;
}

function fromBase64(token: string): string | undefined {
  const standard = token.replaceAll("-", "+").replaceAll("_", "/").replaceAll("=", "");
  const whole = standard.length % 4 === 1 ? standard.slice(0, -1) : standard;
  const text = atob(whole);
  return /^[\t\n\r -~]*$/.test(text) ? text : undefined;
}

function fromUrl(token: string): string | undefined {
  if (!token.includes("%")) return undefined;
  try {
    return decodeURIComponent(token.replaceAll("+", " "));
  } catch {
    return undefined;
  }
}

function occurrences(text: string, form: string): Range[] {
  const found: Range[] = [];
  for (let start = text.indexOf(form); start >= 0; start = text.indexOf(form, start + form.length))
    found.push({ start, end: start + form.length });
  return found;
}

/** The whole run of base64 that a piece stands in. */
function runAround(text: string, { start, end }: Range): Range {
  const inRun = (at: number): boolean => /[A-Za-z0-9+/_=-]/.test(text.charAt(at));
  while (start > 0 && inRun(start - 1)) start -= 1;
  while (end < text.length && inRun(end)) end += 1;
  return { start, end };
}

function merged(ranges: readonly Range[]): Range[] {
  const apart: Range[] = [];
  for (const range of [...ranges].sort((a, b) => a.start - b.start)) {
    const last = apart.at(-1);
    if (range.start >= range.end) continue;
    if (last === undefined || range.start >= last.end) apart.push(range);
    else if (range.end > last.end) apart[apart.length - 1] = { start: last.start, end: range.end };
  }
  return apart;
}
