// The deliveries of a subscription, as an async iterator.
//
// Laws:
// * Iterating may be left at any point and begun again: no delivery is lost or repeated.
// * No delivery is missing silently: a gap is thrown as `GapError`, or given by `withGaps`.
// * What the program got last is had when it asks for more, or closes; with manual acknowledgements, when it says so.

import { Gap } from "./delivery.js";
import { GapError } from "./errors.js";

const BATCH_COUNT = 1000;

export class Deliveries {
  #inbox;
  #driver;
  #acknowledge;

  constructor(inbox, driver) {
    this.#inbox = inbox;
    this.#driver = driver;
    this.#acknowledge = (era, position) => {
      driver.machine.check();
      if (!inbox.acknowledge(era, position)) return;
      driver.session.giveCredit(inbox);
      driver.sendSoon();
    };
  }

  /** What the broker calls the subscription; another name behind a gap of reason "forgotten". */
  get id() {
    return this.#inbox.readId;
  }

  /** The position of the last delivery or gap that was given, or where it all begins. */
  get position() {
    return this.#inbox.yielded;
  }

  /** Whether the broker has resumed this durable subscription. */
  get isResumed() {
    return this.#inbox.isResumed;
  }

  [Symbol.asyncIterator]() {
    return { next: () => this.next(), [Symbol.asyncIterator]() { return this; } };
  }

  /** The next delivery, as `for await` gives it: done when the program has closed the subscription or the client. */
  async next({ signal } = {}) {
    const item = await this.#arrival(signal);
    if (item instanceof Gap) throw this.#errorOf(item);
    return { value: item, done: item === undefined };
  }

  /** The same deliveries, with each gap as a `Gap` in its place. */
  withGaps() {
    const next = async () => {
      const value = await this.#arrival();
      return { value, done: value === undefined };
    };
    return { next, [Symbol.asyncIterator]() { return this; } };
  }

  /**
   * Lists of what has arrived, of up to `maxCount` deliveries; never empty. With `maxS` a list waits for more, for so long
   * after its first delivery. Gaps are thrown between lists.
   */
  batches({ maxCount = BATCH_COUNT, maxS = 0 } = {}) {
    if (!(maxCount >= 1)) throw new RangeError(`maxCount: expected 1 or more, got ${maxCount}`);
    if (!(maxS >= 0)) throw new RangeError(`maxS: expected 0 or more, got ${maxS}`);
    const next = async () => {
      const { value, done } = await this.next();
      return done ? { value, done } : { value: await this.#gather([value], maxCount, maxS), done };
    };
    return { next, [Symbol.asyncIterator]() { return this; } };
  }

  /** Acknowledge all deliveries up to this position: the program is done with them. */
  ack(position) {
    this.#acknowledge(this.#inbox.readEra, position);
  }

  /** Withdraw the subscription, and drop what has not been given. A durable one stays at the broker. */
  async close() {
    this.#driver.unsubscribe(this.#inbox);
  }

  async [Symbol.asyncDispose ?? "asyncDispose"]() {
    await this.close();
  }

  /** Add deliveries to a list until it is full, or would have a gap, or the time is over. */
  async #gather(batch, maxCount, maxS) {
    const inbox = this.#inbox;
    const over = maxS ? AbortSignal.timeout(1000 * maxS) : AbortSignal.abort();
    while (batch.length < maxCount) {
      const more = inbox.takeAlso(this.#acknowledge);
      if (more !== undefined) {
        batch.push(more);
        continue;
      }
      if (over.aborted || !inbox.mayGetMore || this.#driver.machine.isClosed) break;
      await this.#driver.arrival(inbox, over).catch(() => {}); // The list is given when the time is over.
    }
    return batch;
  }

  /** The next delivery or gap; undefined when nothing comes any more because the program wants no more. */
  async #arrival(signal) {
    const inbox = this.#inbox;
    const driver = this.#driver;
    for (;;) {
      signal?.throwIfAborted();
      if (inbox.isClosed) return undefined;
      const item = driver.session.yieldFrom(inbox, this.#acknowledge);
      driver.sendSoon();
      if (item !== undefined) return item;
      if (inbox.ended !== null) throw inbox.ended;
      if (driver.hasLeft) return undefined;
      driver.machine.check();
      await driver.arrival(inbox, signal);
    }
  }

  #errorOf(gap) {
    return new GapError(`subscription ${this.#inbox.filter}: ${gap}`, gap.count, gap.reason);
  }
}
