// The window of publications that the broker has not taken over.
//
// Laws:
// * Publications leave in the order in which they were published, those of different publishers too.
// * One leaves the window when the broker has answered a flush that was sent behind it, or says after a reconnection
//   that it has taken it. All others are sent again on the next connection.
// * One begins only while the broker's credit is above 0; the last one may overdraw it.

import { Deque } from "./deque.js";
import { prefixOf, renumbered } from "./events.js";

/** The states of a publisher or a subscription, over all connections. */
export const Phase = Object.freeze({ OPENING: "opening", OPEN: "open", LEAVING: "leaving", ENDED: "ended" });

/** One publisher of a client. `number` is its request on the present connection. */
export class Source {
  constructor(filter, resume = "") {
    this.filter = filter;
    this.id = resume;
    this.prefix = new Uint8Array(0);
    this.sequence = 0;
    this.number = 0;
    this.phase = Phase.OPENING;
    this.isWanted = false;
    this.interest = null;
    this.pendingCount = 0;
    this.ended = null;
    this.isNotified = false;
  }

  name(publisher) {
    this.id = publisher;
    this.prefix = prefixOf(publisher);
  }
}

/** The filters that overlap a publisher's advertisement, over all connections. `version` counts the lists; 0: there is none yet. */
export class Interest {
  #told = new Set();

  constructor(source) {
    this.source = source;
    this.filters = [];
    this.version = 0;
    this.failure = null;
  }

  /** The fields of the request under this number; the broker lists everything anew. */
  ask(number) {
    this.#told.clear();
    return { number, publisher: this.source.number };
  }

  /** Take a page of a change; return whether the list is another now. */
  put({ added, removed, more }) {
    for (const each of removed) this.#told.delete(each);
    for (const each of added) this.#told.add(each);
    if (more) return false;
    this.filters = [...this.#told];
    this.version += 1;
    return true;
  }
}

/** A flush in the window: done when everything before it has been taken over. */
export class Flush {
  constructor(isDone) {
    this.isDone = isDone;
  }
}

export class SendWindow {
  constructor(limits) {
    this.limits = limits;
    this.sizeBytes = 0;
    this.creditBytes = 0;
    this.unsent = new Deque();
    this.sent = new Deque();
    this.unflushedBytes = 0;
  }

  /** Take one publication; its frame has the source's next number, which is returned. */
  append(source, frame) {
    source.sequence += 1;
    source.pendingCount += 1;
    this.sizeBytes += frame.length;
    this.unsent.push({ source, sequence: source.sequence, frame });
    return source.sequence;
  }

  get isFull() {
    return this.sizeBytes >= this.limits.windowBytes;
  }

  get isEmpty() {
    return !this.unsent.length && !this.sent.length;
  }

  /** A window smaller than usual has to empty itself sooner. */
  get flushBytes() {
    return Math.min(this.limits.flushBytes, this.limits.windowBytes / 4);
  }

  /** The flush of everything so far; callers share it until more is appended. */
  flush() {
    const last = this.unsent.last ?? this.sent.last;
    if (last instanceof Flush) return last;
    const flush = new Flush(last === undefined);
    if (last !== undefined) this.unsent.push(flush);
    return flush;
  }

  /** Ask what has been taken over, unless that is asked already. */
  flushIfDue() {
    if (this.unflushedBytes && !this.unsent.length) this.flush();
  }

  /** What may be sent now: frames, and flushes that the caller sends. */
  take(sizeBytes) {
    const taken = [];
    let left = sizeBytes;
    while (this.unsent.length && left > 0) {
      const entry = this.unsent.first;
      if (!(entry instanceof Flush) && this.creditBytes <= 0) break;
      this.unsent.shift();
      this.sent.push(entry);
      taken.push(entry);
      if (entry instanceof Flush) {
        this.unflushedBytes = 0;
        continue;
      }
      left -= entry.frame.length;
      this.creditBytes -= entry.frame.length;
      this.unflushedBytes += entry.frame.length;
      if (this.unflushedBytes >= this.flushBytes && !(this.unsent.first instanceof Flush)) this.unsent.unshift(new Flush(false));
    }
    return taken;
  }

  /** The broker has answered this flush: what was sent before it is not needed any more. */
  flushed(flush) {
    while (!flush.isDone) {
      const entry = this.sent.shift();
      if (entry instanceof Flush) entry.isDone = true;
      else this.drop(entry);
    }
  }

  drop({ source, frame }) {
    this.sizeBytes -= frame.length;
    source.pendingCount -= 1;
  }

  /** Everything that is not taken over is to be sent again, without any credit yet. */
  rewind() {
    this.unsent = new Deque([...this.sent, ...this.unsent]);
    this.sent = new Deque();
    this.unflushedBytes = 0;
    this.creditBytes = 0;
  }

  /** Drop what a publisher has published up to the number that the broker has taken. */
  taken(source, sequence) {
    this.dropWhere((entry) => entry.source === source && entry.sequence <= sequence);
  }

  /** Drop what has not been sent of a publisher that has ended. */
  forget(source) {
    this.dropWhere((entry) => entry.source === source);
  }

  dropWhere(isDropped) {
    const kept = [];
    for (const entry of this.unsent) {
      if (!(entry instanceof Flush) && isDropped(entry)) this.drop(entry);
      else kept.push(entry);
    }
    this.unsent = new Deque(kept);
  }

  /** Number what is left of a publisher from 1 under a new id: the broker has forgotten the old one. */
  rename(source, publisher) {
    const oldPrefix = source.prefix;
    source.name(publisher);
    source.sequence = 0;
    for (const entry of this.unsent) {
      if (entry.source !== source) continue;
      source.sequence += 1;
      this.sizeBytes -= entry.frame.length;
      entry.sequence = source.sequence;
      entry.frame = renumbered(entry.frame, oldPrefix, source.prefix, source.sequence);
      this.sizeBytes += entry.frame.length;
    }
  }
}
