/** What a call to a server may take, in milliseconds: so much that only one that never answers comes to it, however busy the machine. */
export const PATIENCE_MS = 60_000;

/** The same for what a claim waits for within it. */
export const CLAIM_DEADLINE_MS = 20_000;
