import { createHash } from "node:crypto";

/** Longer names keep only a beginning and a digest, so that every file system takes them with what `continuationPath` adds. */
const LONGEST = 120;

/** Names that Windows keeps for devices, whatever follows the first dot. */
const DEVICE = /^(con|prn|aux|nul|com\d|lpt\d)$/;

/**
 * The name of the session's file, without its ending: lower-case ASCII that no file system folds, normalizes or takes for a device. Two ids
 * never have one name.
 */
export function fileNameOf(id: string): string {
  // By UTF-16 unit, so that halves of a character stay apart.
  const escaped = id.replace(/[^a-z0-9_-]/g, escapeUnit);
  if (escaped === "") return "%";
  if (DEVICE.test(escaped)) return `${escapeUnit(escaped.slice(0, 1))}${escaped.slice(1)}`;
  if (escaped.length <= LONGEST) return escaped;
  // What is escaped never has a hyphen after the percent sign, so no other id is written like this.
  const digest = createHash("sha256").update(Buffer.from(id, "utf16le")).digest("hex");
  return `${escaped.slice(0, 40)}%-${digest}`;
}

function escapeUnit(unit: string): string {
  const code = unit.charCodeAt(0);
  return code < 256 ? `%${code.toString(16).padStart(2, "0")}` : `%u${code.toString(16).padStart(4, "0")}`;
}

/** The id that has this file name; undefined for a digest, and for a name that is no session's. */
export function idOfFileName(name: string): string | undefined {
  const id =
    name === "%"
      ? ""
      : name.replace(/%(?:u([0-9a-f]{4})|([0-9a-f]{2}))/g, (_, wide?: string, narrow?: string) =>
          String.fromCharCode(Number.parseInt(wide ?? narrow ?? "", 16)),
        );
  return fileNameOf(id) === name ? id : undefined;
}

/** True for a name as `fileNameOf` makes them. */
export function isFileName(name: string): boolean {
  return /^[a-z0-9_%-]{0,40}%-[0-9a-f]{64}$/.test(name) || idOfFileName(name) !== undefined;
}
