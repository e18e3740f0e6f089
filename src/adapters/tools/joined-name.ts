import { createHash } from "node:crypto";
import { CompositionError } from "../../domain/errors.js";

/** What every provider accepts as a tool's name. */
const LEGAL = /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/;
/** A namespace whose end can be found in a joined name: no two underscores in a row, none at its end. */
const NAMESPACE = /^(?:[A-Za-z0-9-]|_(?=[A-Za-z0-9-]))+$/;
/** The end of a name that holds a hash; a name that looks so by itself gets a hash too. */
const HASHED = /_x[0-9a-f]{32}$/;
const READABLE_LENGTH = 30;

/**
 * The name of a tool within a namespace, `namespace__name`, as every provider accepts it: letters, digits, `_` and `-`, no digit or `-` first, at
 * most 64. Two different pairs never get the same: what does not fit keeps a readable beginning and ends in a hash of both, the same in every process.
 * Throws `CompositionError("invalid-config")` for an empty namespace.
 */
export function joinedName(namespace: string, name: string): string {
  if (typeof namespace !== "string" || namespace === "") {
    throw new CompositionError("invalid-config", "a namespace is a text of at least one character");
  }
  const plain = `${namespace}__${name}`;
  if (NAMESPACE.test(namespace) && name !== "" && LEGAL.test(plain) && !HASHED.test(plain)) return plain;
  const readable = plain
    .replace(/[^A-Za-z0-9_-]+/g, "_")
    .replace(/^[0-9-]/, "_$&")
    .slice(0, READABLE_LENGTH);
  // As JSON, so that the border between the two counts.
  const hash = createHash("sha256")
    .update(JSON.stringify([namespace, name]))
    .digest("hex")
    .slice(0, 32);
  return `${readable}_x${hash}`;
}
