// What is on offer, as a client's watch knows it: the advertisements that stand, and their changes, without I/O.
//
// Laws:
// * What was given as added, and not as removed since, is what stood last.
// * A snapshot that comes again, behind a lost connection, is compared with what was given: only differences come out, and
//   "complete" behind them.
// * What waits grows with the advertisements that stand, not with the changes.

import { ConcordError, RefusedError } from "./errors.js";
import { encodeMessage } from "./wire.js";

const OFFERS_BYTES_MAX = 128 * 1024 * 1024;

/** One request for advertisements, over all connections. `number` is its number on the present one. */
export class Offers {
  #given = new Map();
  #touched = new Set();
  #owesComplete = false;
  #sizeBytes = 0;

  constructor(filter) {
    this.filter = filter;
    this.number = 0;
    /** Whether the snapshot of this connection has come whole. */
    this.isComplete = false;
    this.ended = null;
    /** What the broker has said that stands: filters by publisher. */
    this.standing = new Map();
  }

  ask(number) {
    this.number = number;
    return encodeMessage("Discover", { number, filter: this.filter });
  }

  /** Take a page of a snapshot, or changes. */
  put({ added, removed, anew, more }) {
    if (anew) {
      this.standing.clear();
      this.#sizeBytes = 0;
      this.isComplete = false;
    }
    for (const [publisher, filter] of added) {
      this.#remove(publisher);
      this.standing.set(publisher, filter);
      this.#sizeBytes += publisher.length + filter.length;
    }
    for (const publisher of removed) this.#remove(publisher);
    for (const publisher of [...added.map(([each]) => each), ...removed]) this.#touched.add(publisher);
    if (!more && !this.isComplete) {
      for (const publisher of this.#given.keys()) this.#touched.add(publisher);
      this.isComplete = true;
      this.#owesComplete = true;
    }
    if (this.#sizeBytes > OFFERS_BYTES_MAX) {
      this.ended = new ConcordError(`more is on offer than the ${OFFERS_BYTES_MAX} bytes that are kept: ask by a narrower filter`);
    }
  }

  #remove(publisher) {
    const filter = this.standing.get(publisher);
    if (filter === undefined) return;
    this.standing.delete(publisher);
    this.#sizeBytes -= publisher.length + filter.length;
  }

  refused({ code, text }) {
    this.ended = new RefusedError(`the broker does not show advertisements ${this.filter}: ${text}`, code);
  }

  /** The next change; undefined if there is none now. */
  take() {
    for (const publisher of this.#touched) {
      this.#touched.delete(publisher);
      const before = this.#given.get(publisher);
      const now = this.standing.get(publisher);
      if (now !== undefined && now !== before) {
        this.#given.set(publisher, now);
        return { kind: "added", publisher, filter: now };
      }
      // Before the snapshot is complete nobody knows whether it is gone.
      if (now === undefined && before !== undefined && this.isComplete) {
        this.#given.delete(publisher);
        return { kind: "removed", publisher, filter: before };
      }
    }
    if (!this.#owesComplete) return undefined;
    this.#owesComplete = false;
    return { kind: "complete", publisher: "", filter: "" };
  }
}
