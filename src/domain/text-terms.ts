/**
 * The terms of a text for matching: words of letters, digits and marks, and single pictographs, in lower case, width and accents
 * folded. Scripts written without spaces give each character and each pair of neighbours. Other signs give nothing, so text is never
 * query syntax.
 */
export function textTerms(text: string): readonly string[] {
  const terms: string[] = [];
  for (const [run] of fold(text).matchAll(RUNS)) {
    if (UNSPACED.test(run)) addPairs(terms, run);
    else terms.push(run);
  }
  return terms;
}

const UNSPACED_SCRIPTS = String.raw`\p{sc=Han}\p{sc=Hira}\p{sc=Kana}\p{sc=Hang}\p{sc=Thai}\p{sc=Laoo}\p{sc=Khmr}\p{sc=Mymr}`;
const RUNS = new RegExp(
  String.raw`[${UNSPACED_SCRIPTS}\u30FC]+|(?:(?![${UNSPACED_SCRIPTS}])[\p{L}\p{N}\p{M}_])+|\p{Extended_Pictographic}`,
  "gu",
);
const UNSPACED = new RegExp(`[${UNSPACED_SCRIPTS}]`, "u");

/** Latin accents go, marks that carry meaning in other scripts stay. */
function fold(text: string): string {
  return text
    .normalize("NFKD")
    .replace(/[\u0300-\u036f]/g, "")
    .normalize("NFC")
    .toLowerCase();
}

function addPairs(terms: string[], run: string): void {
  let before = "";
  for (const character of run) {
    terms.push(character);
    if (before !== "") terms.push(before + character);
    before = character;
  }
}
