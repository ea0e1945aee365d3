// The watch of what is on offer that `client.advertisements` gives: an async iterator of changes.

export class AdvertisementWatch {
  #offers;
  #driver;
  #isClosed = false;

  constructor(offers, driver) {
    this.#offers = offers;
    this.#driver = driver;
  }

  /** What stands now: filters by publisher. Behind a lost connection it fills anew. */
  get standing() {
    return new Map(this.#offers.standing);
  }

  [Symbol.asyncIterator]() {
    return { next: () => this.next(), [Symbol.asyncIterator]() { return this; } };
  }

  /** The next change: first all that stands, then "complete", then what comes and goes. Done when it has been closed. */
  async next() {
    let value;
    const hasFound = () => {
      value ??= this.#isClosed ? undefined : this.#offers.take();
      return value !== undefined || this.#isClosed || this.#offers.ended !== null;
    };
    try {
      await this.#driver.until(hasFound);
    } catch (error) {
      if (!this.#driver.hasLeft) throw error;
    }
    if (value === undefined && !this.#isClosed && this.#offers.ended !== null) throw this.#offers.ended;
    return { value, done: value === undefined };
  }

  /** End the watch; a loop over it ends. */
  async close() {
    this.#isClosed = true;
    this.#driver.session.undiscover(this.#offers);
    this.#driver.sendSoon();
    this.#driver.announceChange();
  }

  async [Symbol.asyncDispose ?? "asyncDispose"]() {
    await this.close();
  }
}
