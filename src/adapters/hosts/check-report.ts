import { terminalText } from "../observers/terminal-text.js";
import type { ClaimLine, Failure, Subject } from "./check-message.js";

const INDENT = " ".repeat(11);
const LABELS = { passed: "passed ", failed: "FAILED ", skipped: "skipped" } as const;

/** The heading of an export, line feed at the end. */
export function subjectText({ name, port }: Subject): string {
  return terminalText(name === port ? `${name}\n` : `${name} (${port})\n`);
}

/** A claim as one line, and below a failed one what went wrong and where; safe to print. */
export function lineText(line: ClaimLine): string {
  const reason = line.outcome === "skipped" ? ` (${line.reason})` : "";
  const head = `  ${LABELS[line.outcome]}  ${line.id}: ${line.title}${reason}\n`;
  return terminalText(line.outcome === "failed" ? head + failureText(line) : head);
}

function failureText({ message, place }: Failure): string {
  const at = place === undefined ? [] : [`at ${place}`];
  return [...message.split("\n"), ...at].map((text) => `${INDENT}${text}\n`).join("");
}

/** How many claims came to what, line feed at the end. */
export function summaryText(lines: readonly ClaimLine[]): string {
  const count = (outcome: ClaimLine["outcome"]): number => lines.filter((line) => line.outcome === outcome).length;
  return `\n${lines.length} claims: ${count("passed")} passed, ${count("failed")} failed, ${count("skipped")} skipped\n`;
}

/** Why a module could not be checked, or not to the end; safe to print. */
export function problemText({ message, place }: Failure): string {
  return terminalText(`ennead: ${message}${place === undefined ? "" : `\n  at ${place}`}\n`);
}

/** Everything as one JSON document in ASCII, so that no text from outside reaches a terminal as it is. */
export function jsonText(report: {
  readonly ok: boolean;
  readonly module: string;
  readonly problem: Failure | undefined;
  readonly claims: readonly ClaimLine[];
}): string {
  const ascii = (text: string): string => `\\u${text.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return `${JSON.stringify(report, undefined, 2).replace(/[\u007f-\uffff]/g, ascii)}\n`;
}
