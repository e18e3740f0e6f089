/**
 * The terms of a text for matching: words of letters, digits and marks, and single pictographs, in lower case, width and accents
 * folded. Scripts written without spaces give each character and each pair of neighbours. Other signs give nothing, so text is never
 * query syntax.
 */
export function textTerms(text: string): readonly string[] {
  const terms: string[] = [];
  for (const run of runsOf(fold(text))) {
    if (UNSPACED.test(run)) addPairs(terms, run);
    else terms.push(run);
  }
  return terms;
}

const UNSPACED_SCRIPTS = String.raw`\p{sc=Han}\p{sc=Hira}\p{sc=Kana}\p{sc=Hang}\p{sc=Thai}\p{sc=Laoo}\p{sc=Khmr}\p{sc=Mymr}`;
/** Characters of one match: more would not fit the stack of the engine. */
const LONGEST_MATCH = 65_536;
const SIGNS = String.raw`[${UNSPACED_SCRIPTS}\u30FC]{1,${LONGEST_MATCH}}`;
const WORD = String.raw`(?:(?![${UNSPACED_SCRIPTS}])[\p{L}\p{N}\p{M}_]){1,${LONGEST_MATCH}}`;
const RUNS = new RegExp(String.raw`(${SIGNS})|${WORD}|\p{Extended_Pictographic}`, "gu");
const MORE_UNSPACED = new RegExp(SIGNS, "uy");
const MORE_OF_WORD = new RegExp(WORD, "uy");
const UNSPACED = new RegExp(`[${UNSPACED_SCRIPTS}]`, "u");

/** Latin accents go, marks that carry meaning in other scripts stay. */
function fold(text: string): string {
  return text
    .normalize("NFKD")
    .replace(/[\u0300-\u036f]/g, "")
    .normalize("NFC")
    .toLowerCase();
}

/** Each run whole, however long: what is left of one that a match was too short for is matched from there. */
function runsOf(text: string): readonly string[] {
  const runs: string[] = [];
  let at = 0;
  const next = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at;
    const match = pattern.exec(text);
    if (match !== null) at = pattern.lastIndex;
    return match;
  };
  for (let match = next(RUNS); match !== null; match = next(RUNS)) {
    let [run] = match;
    const more = match[1] === undefined ? MORE_OF_WORD : MORE_UNSPACED;
    for (let piece = run; piece.length >= LONGEST_MATCH; run += piece) piece = next(more)?.[0] ?? "";
    runs.push(run);
  }
  return runs;
}

function addPairs(terms: string[], run: string): void {
  let before = "";
  for (const character of run) {
    terms.push(character);
    if (before !== "") terms.push(before + character);
    before = character;
  }
}
