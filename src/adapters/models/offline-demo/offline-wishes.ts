/** What the rules found in one clause of a message, with whatever they could pick out of it. */
export type Wish = {
  readonly kind: "list" | "read" | "search" | "calculate" | "time" | "other";
  /** The clause itself. */
  readonly clause: string;
  readonly path?: string;
  readonly text?: string;
  readonly expression?: string;
  readonly zone?: string;
};

const MAX_LENGTH = 2_000;
const MAX_WISHES = 8;

/** The wishes of a message, one a clause, in the order of the text. Looks at the first 2,000 characters and finds at most 8. */
export function wishesOf(message: string): readonly Wish[] {
  const wishes: Wish[] = [];
  for (const clause of clausesOf(message.slice(0, MAX_LENGTH))) {
    const wish = wishOf(clause, wishes.at(-1));
    if (wish !== undefined && wishes.length < MAX_WISHES) wishes.push(wish);
  }
  return wishes;
}

const QUOTED = /"[^"\n]*"|(?<!\w)'[^'\n]*'(?!\w)|`[^`\n]*`|“[^”\n]*”/g;
const CLAUSE_END = /\n|;|,(?=\s)|[.!?](?=\s|$)|\b(?:and then|and|then|also)\b(?=\s)/i;

/** Pieces between "and", "then", commas and sentence ends; quoted text is never cut. */
function clausesOf(message: string): readonly string[] {
  const quotes: string[] = [];
  // A private-use character holds the place of each quotation while the rest is cut.
  const bare = message.replaceAll("\uf8ff", "").replace(QUOTED, (quote) => `\uf8ff${quotes.push(quote) - 1}\uf8ff`);
  return bare
    .split(CLAUSE_END)
    .map((clause) =>
      clause.replace(/\uf8ff([0-9]+)\uf8ff/g, (_match, index: string) => quotes[Number(index)] ?? "").trim(),
    )
    .filter((clause) => clause !== "");
}

const TIME =
  /\bwhat(?:'s| is)?\s+(?:the\s+)?(?:current\s+)?(?:time|date|day)\b|\b(?:current|local)\s+(?:time|date)\b|\btime\s+(?:is it|now)\b/i;
const LIST = /\b(?:list|ls)\b|\b(?:which|what|show)\b.{0,20}\b(?:files|folders|directories)\b/i;
const SEARCH = /\b(?:search|find|grep|look\s+for|where\s+is|occurrences?\s+of)\b/i;
const READ = /\b(?:read|show|open|print|cat|display|summari[sz]e|contents?\s+of|what(?:'s| is)\s+in)\b/i;

function wishOf(clause: string, before: Wish | undefined): Wish | undefined {
  const path = pathIn(clause);
  const place = path === undefined ? {} : { path };
  if (TIME.test(clause))
    return { kind: "time", clause, ...optional("zone", /\b[A-Z]\w+\/[A-Z]\w+\b/.exec(clause)?.[0]) };
  if (SEARCH.test(clause)) {
    const text = quotedIn(clause) ?? afterSearchWord(clause);
    if (text !== undefined) return { kind: "search", clause, text, ...optional("path", placeIn(clause)) };
  }
  if (LIST.test(clause)) return { kind: "list", clause, ...optional("path", placeIn(clause) ?? path) };
  if (READ.test(clause) && path !== undefined) return { kind: "read", clause, ...place };
  const expression = expressionIn(clause);
  if (expression !== undefined) return { kind: "calculate", clause, expression };
  // "read a.ts and b.ts": a bare path wants what the clause before wanted.
  if (path === clause && (before?.kind === "read" || before?.kind === "list"))
    return { kind: before.kind, clause, path };
  return { kind: "other", clause, ...place, ...optional("text", quotedIn(clause) ?? afterPreposition(clause)) };
}

function optional<K extends string>(key: K, value: string | undefined): { readonly [P in K]?: string } {
  return value === undefined ? {} : ({ [key]: value } as { readonly [P in K]: string });
}

function quotedIn(clause: string): string | undefined {
  return clause.match(QUOTED)?.[0].slice(1, -1);
}

/** A word that looks like a path: with a slash or a file ending, quotes taken away. */
function pathIn(clause: string): string | undefined {
  for (const word of clause.split(/\s+/)) {
    const bare = word.replace(/^["'`“(]+|["'`”),:?!]+$/g, "");
    if (/^(?:\.{1,2}\/)?[\w@~+-][\w@~+./-]*$/.test(bare) && /\/|\.[A-Za-z]\w{0,9}$/.test(bare)) return bare;
    if (/^\/[\w./-]+$/.test(bare) || bare === "." || bare === "..") return bare;
  }
  return undefined;
}

/** The folder or file behind "in", "of", "under" or "below". */
function placeIn(clause: string): string | undefined {
  const unquoted = clause.replace(QUOTED, " ");
  const [, place] =
    /\b(?:in|of|under|below|inside)\s+(?:the\s+)?(?:folder\s+|directory\s+|file\s+)?([\w@~+./-]+)/i.exec(unquoted) ??
    [];
  if (place === undefined || /^(?:this|the|here|it|folder|directory|root|project|repository|files?|all)$/i.test(place))
    return undefined;
  return place;
}

function afterSearchWord(clause: string): string | undefined {
  const [, word] =
    /\b(?:search\s+for|find|grep(?:\s+for)?|look\s+for|where\s+is|occurrences?\s+of|search)\s+(?:the\s+(?:word|text)\s+)?(\S+)/i.exec(
      clause,
    ) ?? [];
  return word === undefined || /^(?:in|the|all|for)$/i.test(word) ? undefined : word;
}

function afterPreposition(clause: string): string | undefined {
  return /\b(?:for|in|of|about|to|at|on|with)\s+(?:the\s+)?([^\s].*)$/i.exec(clause)?.[1];
}

const SPOKEN: readonly (readonly [RegExp, string])[] = [
  [/\bplus\b/gi, "+"],
  [/\bminus\b/gi, "-"],
  [/\b(?:times|multiplied by)\b/gi, "*"],
  [/\bdivided by\b/gi, "/"],
  [/\bto the power of\b/gi, "^"],
];
/** Runs of what a sum is written with; taken whole, so that the cost stays linear. */
const SUM_RUN = /[-+*/%^()×÷.0-9\s]+/g;
const IS_SUM = /[0-9)]\s*[-+*/%^×÷]+\s*[-(.0-9]/;
const SUM_ASKED = /\b(?:calculate|compute|evaluate|work\s+out|how\s+much|what(?:'s| is)|result\s+of)\b/i;

/** A sum, where one is asked for or the clause is nothing else. */
function expressionIn(clause: string): string | undefined {
  const written = SPOKEN.reduce(
    (text, [word, sign]) => text.replace(word, sign),
    clause.replace(QUOTED, (quote) => quote.slice(1, -1)),
  );
  const sum = written
    .match(SUM_RUN)
    ?.find((run) => IS_SUM.test(run))
    ?.trim();
  if (sum === undefined) return undefined;
  return SUM_ASKED.test(written) || sum === written.replace(/[=?\s]+$/, "") ? sum : undefined;
}
