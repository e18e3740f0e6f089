import { setOwn } from "../../domain/adopt.js";
import type { Json, JsonObject } from "../../domain/json.js";
import { LinearPattern } from "../../domain/linear-pattern.js";
import { secretForms } from "./secret-forms.js";

/** What is looked for: a pattern by its name, which stands in the replacement. */
export type RedactPattern = { readonly name: string; readonly pattern: RegExp };

type Within = { readonly numbers: boolean };

type Span = { readonly start: number; readonly end: number; readonly name: string };

/** Replaces what patterns and secrets find, in time that grows with the text alone. */
export class Redaction {
  readonly #patterns: readonly { readonly name: string; readonly pattern: LinearPattern }[];
  readonly #secrets: () => readonly string[];
  readonly #forms = new Map<string, readonly string[]>();

  /** Throws a TypeError for a pattern that cannot be matched in linear time. */
  constructor(patterns: readonly RedactPattern[], secrets: () => readonly string[]) {
    this.#patterns = patterns.map(({ name, pattern }) => ({
      name,
      pattern: new LinearPattern(pattern.source, pattern.flags.replace(/[gy]/g, "")),
    }));
    this.#secrets = secrets;
  }

  text(text: string): string {
    return this.texts([text])[0] ?? text;
  }

  /**
   * Texts that follow one another: what goes on from one to the next is found too, and so is what is found in one alone, for a word may end
   * there. Gives as many as it got.
   */
  texts(texts: readonly string[]): readonly string[] {
    const whole = texts.join("");
    const notes = this.#notes(whole);
    const isNote = ({ start, end }: Span): boolean => notes.some((note) => note.start <= start && end <= note.end);
    const all = [...this.#secretSpans(whole), ...this.#patternSpans(whole), ...this.#ownSpans(texts)];
    const spans = merged(all.filter((span) => !isNote(span)));
    if (spans.length === 0) return texts;
    let offset = 0;
    return texts.map((text) => {
      const made = withoutSpans(text, offset, spans);
      offset += text.length;
      return made;
    });
  }

  /** Every text and number in it, names of fields included. The value itself where nothing is found. */
  json<T extends Json>(value: T): T {
    return this.#json(value, { numbers: true }) as T;
  }

  /** The same for a schema, whose numbers stay: it would be none with texts in their place. */
  schema(value: JsonObject): JsonObject {
    return this.#object(value, { numbers: false });
  }

  #json(value: Json, within: Within): Json {
    if (typeof value === "string") return this.text(value);
    if (typeof value === "number" && within.numbers) {
      const text = this.text(String(value));
      return text === String(value) ? value : text;
    }
    if (typeof value !== "object" || value === null) return value;
    if (Array.isArray(value)) {
      const items = value as readonly Json[];
      const made = items.map((item) => this.#json(item, within));
      return made.every((item, index) => item === items[index]) ? items : made;
    }
    return this.#object(value as JsonObject, within);
  }

  #object(value: JsonObject, within: Within): JsonObject {
    let changed = false;
    const made: Record<string, Json> = {};
    for (const [name, field] of Object.entries(value)) {
      const [safeName, safeField] = [this.text(name), this.#json(field, within)];
      changed ||= safeName !== name || safeField !== field;
      let free = safeName;
      for (let n = 2; Object.hasOwn(made, free); n++) free = `${safeName} ${n}`;
      setOwn(made, free, safeField);
    }
    return changed ? made : value;
  }

  /** What stands where something was redacted before: a text may be looked through more than once. */
  #notes(text: string): Span[] {
    if (!text.includes(NOTE)) return [];
    return ["secret", ...this.#patterns.map(({ name }) => name)].flatMap((name) => found(text, noteOf(name), name));
  }

  #secretSpans(text: string): Span[] {
    return this.#secrets().flatMap((secret) => this.#formsOf(secret).flatMap((form) => found(text, form, "secret")));
  }

  #formsOf(secret: string): readonly string[] {
    const known = this.#forms.get(secret);
    if (known !== undefined) return known;
    if (this.#forms.size >= MOST_KNOWN) this.#forms.clear();
    const forms = [...secretForms(secret)];
    this.#forms.set(secret, forms);
    return forms;
  }

  #patternSpans(text: string, offset = 0): Span[] {
    return this.#patterns.flatMap(({ name, pattern }) =>
      pattern.findAll(text).map(({ start, end }) => ({ start: offset + start, end: offset + end, name })),
    );
  }

  #ownSpans(texts: readonly string[]): Span[] {
    const spans: Span[] = [];
    if (texts.filter((text) => text !== "").length < 2) return spans;
    let offset = 0;
    for (const text of texts) {
      spans.push(...this.#patternSpans(text, offset));
      offset += text.length;
    }
    return spans;
  }
}

/** Secrets whose forms are kept ready: each is looked for in every text. */
const MOST_KNOWN = 1_000;
const NOTE = "[redacted ";

function noteOf(name: string): string {
  return `${NOTE}${name}]`;
}

function found(text: string, wanted: string, name: string): Span[] {
  const spans: Span[] = [];
  for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + wanted.length)) {
    spans.push({ start: at, end: at + wanted.length, name });
  }
  return spans;
}

/** In order, those that overlap as one under the name of the first. */
function merged(spans: readonly Span[]): readonly Span[] {
  const out: Span[] = [];
  for (const span of [...spans].sort((a, b) => a.start - b.start || b.end - a.end)) {
    const last = out.at(-1);
    if (last !== undefined && span.start < last.end) {
      out[out.length - 1] = { ...last, end: Math.max(last.end, span.end) };
    } else out.push(span);
  }
  return out;
}

/** The part of a longer text that begins at `offset`, with a note in the part where a span begins. */
function withoutSpans(text: string, offset: number, spans: readonly Span[]): string {
  let made = "";
  let at = 0;
  for (const { start, end, name } of spans) {
    const [from, to] = [start - offset, end - offset];
    if (to <= 0 || from >= text.length) continue;
    made += text.slice(at, Math.max(from, 0));
    if (from >= 0) made += noteOf(name);
    at = Math.min(to, text.length);
  }
  return made + text.slice(at);
}
