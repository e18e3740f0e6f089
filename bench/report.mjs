import { cpus, loadavg, totalmem } from "node:os";

/** Where and how the figures were made; a load above the number of cores makes them noisy. */
export function machine({ repeat, quick }) {
  const cores = cpus();
  const memory = `${Math.round(totalmem() / 1024 ** 3)} GiB`;
  const load = loadavg()[0].toFixed(1);
  const how = quick ? "quick run: checks only, the figures mean nothing" : `${repeat} runs each, medians of CPU time`;
  return `Node ${process.version}, ${process.platform} ${process.arch}, ${cores.length} x ${cores[0]?.model ?? "unknown"}, ${memory}, load ${load}; ${how}`;
}

/** One line a figure. */
export function table(figures) {
  const head = ["figure", "value", "target", "stretch", "", "runs", ""];
  const rows = figures.map((figure) => [
    figure.title,
    valueText(figure.value, figure.unit),
    limitText(figure.target, figure.unit),
    limitText(figure.stretch, figure.unit),
    verdict(figure),
    figure.low === undefined ? "" : `${figure.low.toFixed(2)}..${figure.high.toFixed(2)}`,
    figure.note ?? "",
  ]);
  const widths = head.map((_, column) => Math.max(...[head, ...rows].map((row) => row[column].length)));
  const line = (row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column]))
      .join("  ")
      .trimEnd();
  return [head, ...rows].map(line).join("\n");
}

function verdict({ value, target, stretch }) {
  if (target === undefined) return "";
  if (stretch !== undefined && value <= stretch) return "stretch";
  return value <= target ? "reached" : "MISSED";
}

function valueText(value, unit) {
  const digits = unit === "x" || unit === "exponent" ? 2 : 1;
  return `${value.toFixed(digits)}${suffix(unit)}`;
}

function limitText(limit, unit) {
  return limit === undefined ? "" : `${limit}${suffix(unit)}`;
}

function suffix(unit) {
  if (unit === "x") return "x";
  return unit === "exponent" ? "" : ` ${unit}`;
}
