/** Gives its own object as the JSON of it. */
export class GivesItself {
  readonly x = 1;
  toJSON(): this {
    return this;
  }
}

/** Gives another of its kind, which would give another. */
export class GivesAnother {
  readonly at: number;
  constructor(at = 0) {
    this.at = at;
  }
  toJSON(): GivesAnother {
    return new GivesAnother(this.at + 1);
  }
}
