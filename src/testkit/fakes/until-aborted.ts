/** Settles with `work`, or rejects with what `aborted` makes as soon as the signal fires; keeps no listener once settled. */
export function untilAborted<T>(signal: AbortSignal, work: PromiseLike<T>, aborted: () => Error): Promise<T> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      reject(aborted());
      return;
    }
    const onAbort = (): void => reject(aborted());
    const release = (): void => signal.removeEventListener("abort", onAbort);
    signal.addEventListener("abort", onAbort, { once: true });
    work.then(
      (value) => {
        release();
        resolve(value);
      },
      (error: unknown) => {
        release();
        reject(error);
      },
    );
  });
}

/** A promise that never settles. */
export const never: PromiseLike<never> = Promise.withResolvers<never>().promise;
