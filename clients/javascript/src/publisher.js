// A publisher: puts events into the window, which the connection sends.

import { ClosedError, InvalidPublicationError } from "./errors.js";
import { encodeEvent } from "./events.js";
import { WireError } from "./wire.js";

/** After so many bytes `publish` lets other work of the program run. */
const PAUSE_BYTES = 64 * 1024;
const NS_PER_MS = 1_000_000n;

export class Publisher {
  #source;
  #driver;
  #isClosed = false;
  #unpausedBytes = 0;

  constructor(source, driver) {
    this.#source = source;
    this.#driver = driver;
  }

  /** The id by which subscribers know it. It changes if the broker has forgotten it while away. */
  get id() {
    return this.#source.id;
  }

  /** The number of its last event. */
  get sequence() {
    return this.#source.sequence;
  }

  /** Whether a subscription, at any broker, overlaps the advertisement. */
  get isWanted() {
    return this.#source.isWanted;
  }

  /** Wait until a subscriber is interested. */
  wanted() {
    return this.#until(() => this.isWanted);
  }

  /** Wait until no subscriber is interested. */
  unwanted() {
    return this.#until(() => !this.isWanted);
  }

  /** The filters that overlap the advertisement, as texts, once `interestChanges` has been iterated. */
  get interests() {
    return this.#source.interest?.filters ?? [];
  }

  /** Yield `{ added, removed }`: all filters that overlap the advertisement, then each change. */
  async* interestChanges() {
    this.#check();
    const interest = this.#driver.session.followInterest(this.#source);
    this.#driver.sendSoon();
    for (let known = new Set(), version = 0; ;) {
      const before = version;
      await this.#until(() => interest.version !== before || interest.failure !== null);
      if (interest.failure !== null) throw interest.failure;
      const present = new Set(interest.filters);
      const added = [...present].filter((each) => !known.has(each));
      const removed = [...known].filter((each) => !present.has(each));
      known = present;
      version = interest.version;
      if (!before || added.length || removed.length) yield { added, removed };
    }
  }

  /**
   * Call `produce(signal)` while a subscriber is interested, for ever; the signal is aborted when nobody has been for
   * `lingerS`. If it ends by itself, it is called again when interest comes anew. What it throws is thrown here.
   */
  async whileWanted(produce, { lingerS = 0 } = {}) {
    for (;;) {
      await this.wanted();
      const stop = new AbortController();
      const produced = Promise.resolve(stop.signal).then(produce);
      try {
        await Promise.race([this.#abandoned(lingerS), new Promise((_, fail) => { produced.catch(fail); })]);
      } finally {
        stop.abort();
      }
      await produced.catch(() => {}); // Its signal was aborted.
    }
  }

  /** Wait until nobody has been interested for so long. */
  async #abandoned(lingerS) {
    for (let isBack = true; isBack;) {
      await this.unwanted();
      const over = new Promise((resolve) => { setTimeout(() => resolve(false), 1000 * lingerS); });
      isBack = lingerS > 0 && await Promise.race([over, this.wanted().then(() => true)]);
    }
  }

  /**
   * Put an event into the window; resolves to its number. Waits while the window is full. With `confirm` it resolves when
   * the broker has taken the event over.
   */
  async publish(attributes, { payload, ordered = true, confirm = false } = {}) {
    while (this.#unpausedBytes >= PAUSE_BYTES || this.#driver.session.window.isFull) await this.#room();
    this.#check();
    const source = this.#source;
    const frame = this.#encode(attributes, payload, ordered);
    const sequence = this.#driver.session.window.append(source, frame);
    this.#unpausedBytes += frame.length;
    this.#driver.sendSoon();
    if (confirm) await this.flush();
    return sequence;
  }

  /** Wait until the broker has taken over everything published so far. */
  async flush() {
    this.#check();
    const flush = this.#driver.session.window.flush();
    await this.#until(() => flush.isDone);
  }

  /** Wait until everything published is taken over, and withdraw the advertisement. */
  async close() {
    if (this.#isClosed) return;
    try {
      const { pendingCount, ended, isNotified } = this.#source;
      if (pendingCount || (ended !== null && !isNotified)) await this.flush();
    } finally {
      this.#isClosed = true;
      this.#driver.session.unadvertise(this.#source);
      this.#driver.sendSoon();
      this.#driver.announceChange();
    }
  }

  async [Symbol.asyncDispose ?? "asyncDispose"]() {
    await this.close();
  }

  #encode(attributes, payload, ordered) {
    const { prefix, sequence } = this.#source;
    try {
      return encodeEvent(prefix, sequence + 1, BigInt(Date.now()) * NS_PER_MS, attributes, payload, ordered);
    } catch (error) {
      throw error instanceof WireError ? new InvalidPublicationError(`cannot publish this: ${error.message}`) : error;
    }
  }

  /** Let others run; then wait until the window has room. */
  async #room() {
    await this.#driver.pause();
    await this.#until(() => !this.#driver.session.window.isFull);
    this.#unpausedBytes = 0;
  }

  async #until(isSo) {
    this.#check();
    await this.#driver.until(() => isSo() || this.#isClosed || this.#source.ended !== null);
    this.#check();
  }

  #check() {
    if (this.#isClosed) throw new ClosedError(`the publisher ${this.id} was used after it had been closed`);
    if (this.#source.ended !== null) {
      this.#source.isNotified = true;
      throw this.#source.ended;
    }
    this.#driver.machine.check();
  }
}
