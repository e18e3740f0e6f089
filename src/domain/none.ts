/** The list that holds nothing, one for all who have nothing to list yet. */
export const NONE: readonly never[] = Object.freeze([]);
