/** The error of an optional package that does not load, in one short line for whoever has to install it; `cause` is what the loader said. */
export function missingPackage(name: string, cause: unknown): Error {
  return new Error(`needs the package ${name} (npm install ${name})`, { cause });
}
