// Deliveries between the broker and the program: an inbox per subscription, in order, limited by credit.
//
// Laws:
// * Deliveries and gaps come out in the order in which they arrived.
// * Every delivery has a position, counted here and at the broker alike: a delivery takes one, a gap as many as are
//   missing in it, one if nobody knows. So a subscription resumes exactly behind the last delivery that has arrived.
// * The program has had a delivery when it asks for the next one, or, with `maxOpen`, when it acknowledges it or a later
//   one. The broker need not keep what was had.
// * The broker may send as many deliveries as it has credit for; credit is returned half an allowance at a time.
// * Acknowledgements of deliveries from before positions began anew (another `era`) have no effect.

import { Deque } from "./deque.js";
import { Delivery, FORGOTTEN, Gap } from "./delivery.js";
import { decodeEvent } from "./events.js";
import { BrokerFaultError, ClosedError } from "./errors.js";
import { Phase } from "./window.js";

const CONFIRM_BYTES = 512 * 1024;
const WEIGHT = 8;
const UNCONFIRMED = -1;
const KNOWN_COUNT = 100_000;

/** Which events a subscription has had, so that it gets none again at another broker. */
class SeenEvents {
  #last = new Map();

  isNew(frame) {
    const { publisher, ordered, sequence } = decodeEvent(frame);
    const key = `${ordered ? "o" : "u"}${publisher}`;
    const last = this.#last.get(key);
    if (last !== undefined && sequence <= last) return false;
    this.#last.set(key, sequence);
    if (last === undefined && this.#last.size > KNOWN_COUNT) this.#last.delete(this.#last.keys().next().value);
    return true;
  }
}

export class Inbox {
  constructor(filter, options, limits) {
    this.filter = filter;
    this.ordered = options.ordered;
    this.boundBytes = options.boundBytes;
    this.policy = options.policy;
    this.durable = options.durable;
    this.ageS = options.ageS;
    this.after = options.after;
    /** The subscription that `after` is a position of. */
    this.resume = options.resume;
    /** How many deliveries may be unacknowledged; 0 if the program does not acknowledge. */
    this.maxOpen = options.maxOpen;
    /** The past to ask for, at the time that it is given. */
    this.replay = options.replay;
    this.limits = limits;
    this.seen = null;
    this.number = 0;
    this.id = "";
    this.isPlaced = false;
    this.isResumed = false;
    this.phase = Phase.OPENING;
    this.ended = null;
    this.isClosed = false;
    this.outstandingCount = 0;
    this.position = 0;
    this.had = 0;
    /** The position of the last delivery or gap that was given, and the subscription and the era that it belongs to. */
    this.yielded = 0;
    this.readId = "";
    this.readEra = 0;
    this.era = 0;
    this.arrived = new Deque();
    this.open = new Deque();
    /** What the program got last and has not had. */
    this.current = [];
    this.confirmed = UNCONFIRMED;
    this.unconfirmedBytes = 0;
    this.heldCount = 0;
    this.meanBytes = 0;
  }

  /** How many deliveries may be on their way or wait here. */
  get allowanceCount() {
    const { creditFirst, creditMin, creditMax, inboxBytes } = this.limits;
    const fitting = this.meanBytes ? Math.max(creditMin, Math.floor(inboxBytes / this.meanBytes)) : creditFirst;
    const count = Math.min(fitting, creditMax);
    return this.maxOpen ? Math.min(count, this.maxOpen) : count;
  }

  /** Remember what has come, so that nothing comes twice when the client goes to another broker. */
  remember() {
    this.seen ??= new SeenEvents();
  }

  // --- the broker's side ---

  /** A new connection: the request's number there; returns the credit to ask with. */
  begin(number) {
    this.number = number;
    this.isPlaced = false;
    this.outstandingCount = Math.max(this.allowanceCount - this.heldCount, this.maxOpen ? 0 : 1);
    return this.outstandingCount;
  }

  /** Where to resume: behind what arrived last, or where the program says; nothing if the broker decides. */
  get resumePosition() {
    if (this.id) return [this.position];
    return this.after === null ? [] : [this.after];
  }

  placed(subscription, position, goesOn) {
    const asked = this.resumePosition;
    if (goesOn && asked.length && asked[0] !== position) {
      throw new BrokerFaultError(`the broker goes on behind ${position} where ${asked[0]} was asked for`, "unexpected");
    }
    this.isPlaced = true;
    if (!this.id) {
      this.isResumed = goesOn;
      this.had = position;
      this.yielded = position;
      this.readId = subscription;
    }
    this.id = subscription;
    this.position = position;
    this.confirmed = UNCONFIRMED;
    if (asked.length && !goesOn) this.beginAnew(position);
  }

  /** The broker counts from elsewhere: what is here has no position there any more. */
  beginAnew(position) {
    for (const entry of this.arrived) entry.end = position;
    this.had = position;
    this.yielded = position;
    this.era += 1;
    this.heldCount -= this.open.length;
    this.open = new Deque();
    this.miss(new Gap(null, FORGOTTEN));
  }

  put(frames, sizeBytes) {
    this.outstandingCount -= frames.length;
    const meanBytes = sizeBytes / frames.length;
    this.meanBytes += this.meanBytes ? (meanBytes - this.meanBytes) / WEIGHT : meanBytes;
    for (const frame of frames) {
      this.position += 1;
      const isNew = this.seen === null || this.seen.isNew(frame);
      if (isNew) this.heldCount += 1;
      this.arrived.push({ frame: isNew ? frame : null, gap: null, end: this.position, position: this.position, era: this.era });
    }
  }

  /** Deliveries are missing here: 0 means that nobody knows how many. */
  gap(count, reason) {
    this.position += Math.max(count, 1);
    this.miss(new Gap(count || null, reason));
  }

  miss(gap) {
    const last = this.arrived.last;
    const hole = { frame: null, gap, end: this.position, position: 0, era: this.era, id: this.id };
    if (last?.gap) Object.assign(last, hole, { gap: last.gap.plus(gap) });
    else this.arrived.push(hole);
  }

  // --- the program's side ---

  /** The next delivery or gap; undefined if none is here. */
  take(acknowledge) {
    while (this.arrived.length) {
      const entry = this.arrived.shift();
      if (entry.frame !== null) return this.give(entry, acknowledge);
      if (!this.maxOpen) this.had = entry.end;
      if (entry.gap) {
        [this.yielded, this.readEra, this.readId] = [entry.end, entry.era, entry.id];
        return entry.gap;
      }
    }
    return undefined;
  }

  /** Whether deliveries may arrive although none that were given are had. */
  get mayGetMore() {
    return !this.arrived.length && this.ended === null && !this.isClosed && this.outstandingCount > 0;
  }

  /** One more delivery, to be had together with those before it; undefined if none is next. */
  takeAlso(acknowledge) {
    return this.arrived.first?.frame ? this.give(this.arrived.shift(), acknowledge) : undefined;
  }

  give(entry, acknowledge) {
    [this.yielded, this.readEra] = [entry.end, entry.era];
    if (this.maxOpen && entry.era === this.era) this.open.push(entry);
    else this.current.push(entry);
    const { era } = entry;
    return new Delivery(entry.frame, entry.position, (position) => acknowledge(era, position));
  }

  /** The program is done with what it got last, unless it acknowledges; return whether it got something. */
  finish() {
    const hadSome = this.current.length > 0;
    for (const entry of this.current) {
      if (!this.maxOpen && entry.era === this.era) this.had = entry.end;
      this.letGo(1, entry.frame.length);
    }
    this.current = [];
    return hadSome;
  }

  /** Take the acknowledgement of everything up to a position of an era; return whether it has any effect. */
  acknowledge(era, position) {
    if (!this.maxOpen) throw new RangeError("this subscription needs no acknowledgements: make it with ack: \"manual\" to give them");
    if (this.isClosed) throw new ClosedError(`a delivery of ${this.filter} was acknowledged after the subscription was closed: it comes again`);
    if (era !== this.era) return false;
    if (position > this.yielded) throw new RangeError(`ack: position ${position} has not been delivered; ${this.yielded} is the last`);
    let count = 0;
    let sizeBytes = 0;
    while (this.open.length && this.open.first.position <= position) {
      count += 1;
      sizeBytes += this.open.shift().frame.length;
    }
    this.had = Math.max(this.had, position);
    this.letGo(count, sizeBytes);
    return true;
  }

  letGo(count, sizeBytes) {
    this.unconfirmedBytes += sizeBytes;
    this.heldCount -= count;
  }

  /** The credit to give the broker now, counted as given; often none. */
  creditDue() {
    const allowance = this.allowanceCount;
    const count = allowance - this.outstandingCount - this.heldCount;
    // Who acknowledges the oldest of many asks for one more in exchange, and not for half of all.
    const least = this.maxOpen && !this.outstandingCount ? 1 : Math.floor((allowance + 1) / 2);
    if (count < Math.max(least, 1) || !this.isPlaced) return 0;
    this.outstandingCount += count;
    return count;
  }

  get owesConfirmation() {
    return this.unconfirmedBytes >= CONFIRM_BYTES;
  }

  /** The position to confirm to the broker, or null if it is confirmed. */
  unconfirmedPosition() {
    this.unconfirmedBytes = 0;
    if (this.had === this.confirmed) return null;
    this.confirmed = this.had;
    return this.had;
  }
}
