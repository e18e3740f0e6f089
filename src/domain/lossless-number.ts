/** True where a JSON number, as it is written, is exactly the one that its double is written as: no digit is lost. */
export function isLossless(token: string): boolean {
  return significance(token) === significance(String(Number(token)));
}

/** Sign, digits without zeros at either end, and the power of ten of the last digit: equal for equal decimals, however they are written. */
function significance(token: string): string {
  const [mantissa = "", exponent = "0"] = token.toLowerCase().split("e");
  const [whole = "", fraction = ""] = mantissa.replace("-", "").split(".");
  const digits = `${whole}${fraction}`.replace(/^0+/, "");
  let end = digits.length;
  // A pattern for the zeros at the end would begin again at every other zero.
  while (digits.charAt(end - 1) === "0") end -= 1;
  const trimmed = digits.slice(0, end);
  if (trimmed === "") return "0";
  const power = Number(exponent) - fraction.length + (digits.length - trimmed.length);
  return `${token.startsWith("-") ? "-" : ""}${trimmed}e${power}`;
}
