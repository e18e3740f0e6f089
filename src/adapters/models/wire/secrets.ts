/** Shorter ones are too common in other words to be told from them. */
const SHORTEST = 4;
/** A header's value from this length on counts as secret whatever the header's name. */
const LONG_VALUE = 8;
const SECRET_HEADER = /auth|key|token|secret|cookie|passw/i;

/** What of an address must not be quoted: its user, password and the values of its query, as they stand and decoded. */
export function secretsOfUrl(url: URL): readonly string[] {
  const query = url.search.slice(1).split("&");
  const raw = [url.username, url.password, ...query.map((pair) => pair.slice(pair.indexOf("=") + 1))];
  return [...raw.flatMap((text) => [text, decoded(text)]), ...url.searchParams.values()];
}

/** What of configured headers must not be quoted, with and without the scheme in front. */
export function secretsOfHeaders(headers: readonly (readonly [string, string])[]): readonly string[] {
  return headers.flatMap(([name, value]) =>
    SECRET_HEADER.test(name) || value.length >= LONG_VALUE ? [value, value.replace(/^\S+ /, "")] : [],
  );
}

/**
 * `text` without any of `secrets`, in upper or lower case, also where they stand encoded for a URL, JSON or HTML, and without the beginning
 * of one at its end, where the text may have been cut.
 */
export function withoutSecrets(text: string, secrets: readonly string[]): string {
  const forms = new Set(secrets.flatMap(formsOf));
  const patterns = [...forms].filter(({ length }) => length >= SHORTEST).sort((a, b) => b.length - a.length);
  if (patterns.length === 0) return text;
  const escaped = patterns.map((pattern) => pattern.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&"));
  return withoutHead(text.replace(new RegExp(escaped.join("|"), "gi"), "[secret]"), patterns);
}

/** The text without the longest end of it that one of the secrets begins with. */
function withoutHead(text: string, secrets: readonly string[]): string {
  const end = text.trimEnd();
  const low = end.toLowerCase();
  let longest = 0;
  for (const secret of secrets.map((one) => one.toLowerCase())) {
    for (let length = Math.min(secret.length - 1, low.length); length >= SHORTEST && length > longest; length--) {
      if (low.endsWith(secret.slice(0, length))) longest = length;
    }
  }
  return longest === 0 ? text : `${end.slice(0, end.length - longest)}[secret]`;
}

/** The text as it is and as it stands in other languages, each in JSON too: a server may quote one in the other. */
function formsOf(secret: string): readonly string[] {
  const html = secret.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
  return [
    secret,
    encodeURIComponent(secret.toWellFormed()),
    html,
    html.replaceAll('"', "&quot;").replaceAll("'", "&#39;"),
    html.replaceAll('"', "&#34;").replaceAll("'", "&#x27;"),
  ].flatMap((form) => [form, inJson(form), inJson(inJson(form)), form.replaceAll("/", "\\/")]);
}

function inJson(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

/** Percent-encoded text decoded; as it is where it is not well-formed. */
export function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
