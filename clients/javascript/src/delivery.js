// Deliveries, and gaps where deliveries are missing.

import { BrokerFaultError } from "./errors.js";
import { decodeEvent } from "./events.js";
import { ORDERED, REPLAYED } from "./wire.js";

export const FORGOTTEN = "forgotten";

const WHY = {
  bound: "the subscription's queue at the broker was full",
  lost: "a broker or a link on their way was lost",
  taken: "the program goes back behind what it had said that it had, and the broker keeps that no more",
  replay: "not all of the past that was asked for could be replayed",
  [FORGOTTEN]: "the broker does not know any more what this subscription has had",
};
const NS_PER_MS = 1e6;

/** One event, delivered to one subscription. It is decoded when something of it is first looked at. */
export class Delivery {
  #event = null;
  #acknowledge;

  constructor(frame, position, acknowledge) {
    this.frame = frame;
    this.position = position;
    this.#acknowledge = acknowledge;
  }

  get #read() {
    try {
      this.#event ??= decodeEvent(this.frame);
    } catch (error) {
      const text = `the broker delivered at position ${this.position} what is no publication: ${error.message}`;
      throw new BrokerFaultError(text, "malformed", { cause: error });
    }
    return this.#event;
  }

  get publisher() {
    return this.#read.publisher;
  }

  get sequence() {
    return this.#read.sequence;
  }

  /** What filters match. */
  get attributes() {
    return this.#read.attributes;
  }

  /** What filters do not see: bytes. */
  get payload() {
    return this.#read.payload;
  }

  /** The payload as text. */
  get text() {
    return new TextDecoder().decode(this.payload);
  }

  /** When it was published, in milliseconds since 1970 by the publisher's clock, as `Date.now()` counts. */
  get publishedAt() {
    return Number(this.publishedNs) / NS_PER_MS;
  }

  /** The same in nanoseconds, a BigInt. */
  get publishedNs() {
    return this.#read.publishedNs;
  }

  get ordered() {
    return (this.frame[5] & ORDERED) !== 0;
  }

  /** Whether it is of the past that the subscription asked for. */
  get replayed() {
    return (this.frame[5] & REPLAYED) !== 0;
  }

  /** Acknowledge this delivery and all before it: the program is done with them. */
  ack() {
    this.#acknowledge(this.position);
  }
}

/** Here deliveries are missing: `count` of them, or null if nobody knows how many. */
export class Gap {
  constructor(count, reason) {
    this.count = count;
    this.reason = reason;
  }

  /** Two gaps with nothing between them are one; "forgotten" (positions begin anew) goes first. */
  plus(other) {
    if (this.count !== null && other.count !== null) return new Gap(this.count + other.count, this.reason);
    const unknown = this.count !== null || other.reason === FORGOTTEN ? other : this;
    return new Gap(null, unknown.reason);
  }

  toString() {
    const why = this.reason in WHY ? `: ${WHY[this.reason]}` : "";
    if (this.count === null) return `an unknown number of deliveries may be missing here${why}`;
    return `${this.count} deliveries are missing here${why}`;
  }
}
