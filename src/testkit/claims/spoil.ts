/** Tries to change everything in a value, in place and in any depth, the way a careless caller would; what is frozen stays as it is. */
export function spoil(value: unknown): void {
  if (typeof value !== "object" || value === null) return;
  for (const key of Object.keys(value)) {
    const field: unknown = Reflect.get(value, key);
    if (typeof field === "object" && field !== null) spoil(field);
    else Reflect.set(value, key, "spoiled");
  }
  Reflect.set(value, Array.isArray(value) ? value.length : "spoiled", "spoiled");
}

/** Whether everything in a value would let itself be changed, which is nothing that was frozen. */
export function isThawed(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return true;
  return !Object.isFrozen(value) && Object.values(value).every(isThawed);
}
