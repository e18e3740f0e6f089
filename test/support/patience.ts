/** What a call to a server may take, in milliseconds: so much that only one that never answers comes to it, however busy the machine. */
export const PATIENCE_MS = 60_000;
