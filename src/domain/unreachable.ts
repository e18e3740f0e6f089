/** Closes a switch over one of our own unions: a new variant becomes a compile error at the call. */
export function unreachable(value: never): never {
  throw new TypeError(`unhandled variant ${JSON.stringify(value)}`);
}
