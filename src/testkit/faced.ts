/**
 * The object behind a face: `own` says what is told in place of its members. Everything is asked of the object itself, so that getters
 * and methods with private fields work. The face stands on a shell, since one on a frozen object could tell nothing but the truth.
 */
export function faced<T extends object>(
  object: T,
  own: (key: PropertyKey) => { readonly value: unknown } | undefined,
): T {
  const bound = new Map<PropertyKey, { readonly from: unknown; readonly to: unknown }>();
  const member = (key: PropertyKey): unknown => {
    const told = own(key);
    if (told !== undefined) return told.value;
    const value: unknown = Reflect.get(object, key, object);
    if (typeof value !== "function" || key === "constructor") return value;
    const known = bound.get(key);
    if (known?.from === value) return known.to;
    const to: unknown = value.bind(object);
    bound.set(key, { from: value, to });
    return to;
  };
  const shell = Object.create(Object.getPrototypeOf(object) as object | null) as T;
  return new Proxy(shell, {
    get: (_, key) => member(key),
    has: (_, key) => own(key) !== undefined || Reflect.has(object, key),
    set: (_, key, value) => Reflect.set(object, key, value, object),
    deleteProperty: (_, key) => Reflect.deleteProperty(object, key),
    ownKeys: () => Reflect.ownKeys(object),
    getOwnPropertyDescriptor: (_, key) => {
      const known = Reflect.getOwnPropertyDescriptor(object, key);
      if (known === undefined) return undefined;
      return { value: member(key), enumerable: known.enumerable === true, configurable: true, writable: true };
    },
  });
}
