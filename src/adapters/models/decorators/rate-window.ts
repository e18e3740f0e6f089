/** What may be sent within any 60 seconds; infinite where nothing limits it. */
export type RateLimits = { readonly requestsPerMinute: number; readonly tokensPerMinute: number };

/** What one request was booked as. */
export type Booking = { readonly at: number; readonly requests: number; tokens: number };

const WINDOW_MS = 60_000;

/** Requests and tokens of the last 60 seconds. Times are milliseconds of one clock that never goes back. */
export class RateWindow {
  readonly #limits: RateLimits;
  #bookings: Booking[] = [];

  constructor(limits: RateLimits) {
    this.#limits = limits;
  }

  /** Milliseconds until a request of so many tokens fits; 0: now. One that is larger than the limit fits when nothing is booked. */
  waitFor(tokens: number, now: number): number {
    this.#forget(now);
    let requests = 1 - this.#limits.requestsPerMinute;
    let excess = tokens - this.#limits.tokensPerMinute;
    for (const booking of this.#bookings) {
      requests += booking.requests;
      excess += booking.tokens;
    }
    let fits = now;
    for (const { at, ...gone } of this.#bookings) {
      if (requests <= 0 && excess <= 0) break;
      requests -= gone.requests;
      excess -= gone.tokens;
      fits = at + WINDOW_MS;
    }
    return fits - now;
  }

  /** Books a request with what it is thought to take. */
  book(tokens: number, now: number): Booking {
    const booking = { at: now, requests: 1, tokens };
    this.#bookings.push(booking);
    return booking;
  }

  /** Corrects a booking when the tokens are known: what was too much counts no longer, what is missing counts from now on. */
  settle(booking: Booking, tokens: number, now: number): void {
    const missing = tokens - booking.tokens;
    if (missing > 0) this.#bookings.push({ at: now, requests: 0, tokens: missing });
    else booking.tokens = tokens;
  }

  #forget(now: number): void {
    const first = this.#bookings.findIndex(({ at }) => at + WINDOW_MS > now);
    if (first !== 0) this.#bookings = first === -1 ? [] : this.#bookings.slice(first);
  }
}
