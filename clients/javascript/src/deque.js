// A queue whose first entry is taken, and put back, in constant time, however long it is.

const COMPACT_COUNT = 1024;

export class Deque {
  constructor(entries = []) {
    this.entries = [...entries];
    this.start = 0;
  }

  get length() {
    return this.entries.length - this.start;
  }

  get first() {
    return this.entries[this.start];
  }

  get last() {
    return this.length ? this.entries[this.entries.length - 1] : undefined;
  }

  push(entry) {
    this.entries.push(entry);
  }

  shift() {
    if (!this.length) return undefined;
    const entry = this.entries[this.start];
    this.entries[this.start] = undefined;
    this.start += 1;
    if (this.start >= COMPACT_COUNT && 2 * this.start >= this.entries.length) {
      this.entries.splice(0, this.start);
      this.start = 0;
    }
    return entry;
  }

  unshift(entry) {
    if (this.start) {
      this.start -= 1;
      this.entries[this.start] = entry;
    } else {
      this.entries.unshift(entry);
    }
  }

  [Symbol.iterator]() {
    return this.entries.slice(this.start)[Symbol.iterator]();
  }
}
