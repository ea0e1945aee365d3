// From a stream of bytes to messages, as a client reads them.
//
// What comes out does not depend on how the stream was cut. A frame's length is judged when its 4 bytes are there, its
// kind and flags when 6 are. A run of deliveries comes out as one message `Delivered` with their frames, whose bodies
// are trusted: the client's broker has checked them. The first error is the last.

import {
  HEADER_BYTES, LENGTH_BYTES, NAMES, ORDERED, PUBLICATION, PUBLICATION_BYTES, REPLAYED, WireError, decodeMessage, join, limitOf,
} from "./wire.js";

const FIRST = new Set([0x02, 0x03]);
const LATER = new Set([0x03, 0x04, 0x05, 0x06, PUBLICATION, 0x30, 0x31, 0x32, 0x33, 0x34, 0x35, 0x36, 0x37, 0x38, 0x39, 0x3a, 0x3b, 0x3d, 0x3e]);
const NOTHING = new Set();
const FLAGS = ORDERED | REPLAYED;
/** Kinds that brokers send each other: they exist, and no client gets them. */
const LINK_KINDS = [[0x07, 0x07], [0x40, 0x49], [0x50, 0x58], [0x60, 0x61], [0x70, 0x72], [0x78, 0x7c]];

export class Decoder {
  constructor() {
    this.rest = new Uint8Array(0);
    this.chunks = [];
    this.waitingBytes = 0;
    this.neededBytes = 0;
    this.expected = FIRST;
    this.subscription = 0;
    this.dueCount = 0;
    this.error = null;
  }

  /** Take what was read; calls `take` with each message that is complete, then throws the error of a wrong frame. */
  feed(chunk, take) {
    if (this.error !== null) throw this.error;
    this.chunks.push(chunk);
    this.waitingBytes += chunk.length;
    if (this.waitingBytes < this.neededBytes) return;
    const buffer = join(this.chunks);
    this.chunks = [];
    try {
      const end = this.read(buffer, take);
      this.waitingBytes = buffer.length - end;
      if (end < buffer.length) this.chunks.push(buffer.subarray(end));
    } catch (error) {
      if (error instanceof WireError) this.error = error;
      throw error;
    }
  }

  /** Read whole frames; returns where the first one begins that is not whole. */
  read(buffer, take) {
    const view = new DataView(buffer.buffer, buffer.byteOffset, buffer.byteLength);
    let at = 0;
    while (buffer.length - at >= LENGTH_BYTES) {
      const length = view.getUint32(at);
      checkLength("frame", length, this.largest());
      if (buffer.length - at < HEADER_BYTES) break;
      this.checkHeader(length, buffer[at + 4], buffer[at + 5]);
      const end = at + LENGTH_BYTES + length;
      if (end > buffer.length) {
        this.neededBytes = end - at;
        return at;
      }
      at = buffer[at + 4] === PUBLICATION ? this.readDeliveries(buffer, view, at, take) : this.readMessage(buffer, at, end, take);
    }
    this.neededBytes = buffer.length - at < LENGTH_BYTES ? LENGTH_BYTES : HEADER_BYTES;
    return at;
  }

  largest() {
    return this.expected === LATER ? PUBLICATION_BYTES : 16 * 1024;
  }

  checkHeader(length, code, flags) {
    const name = code === PUBLICATION ? "Publication" : NAMES.get(code);
    const isLink = LINK_KINDS.some(([first, last]) => code >= first && code <= last);
    if (name === undefined && !isLink) throw new WireError("unknown", `kind 0x${code.toString(16)}: this end knows no such frame`);
    if (!this.expected.has(code)) throw new WireError("unexpected", `${name ?? "a frame between brokers"}: not expected here`);
    checkLength(name, length, limitOf(code));
    if (flags & ~(code === PUBLICATION ? FLAGS : 0)) throw new WireError("malformed", `${name}: flags 0x${flags.toString(16)} are not used here`);
    if ((code === PUBLICATION) !== (this.dueCount > 0) && this.expected === LATER) {
      throw new WireError("unexpected", `${name}: ${this.dueCount ? `${this.dueCount} publications are due` : "no Deliver announced it"} here`);
    }
  }

  /** Read the deliveries that are due and have come whole; the first one has. */
  readDeliveries(buffer, view, start, take) {
    const frames = [];
    let at = start;
    while (frames.length < this.dueCount && buffer.length - at >= HEADER_BYTES) {
      const end = at + LENGTH_BYTES + view.getUint32(at);
      if (buffer[at + 4] !== PUBLICATION || buffer[at + 5] & ~FLAGS || end > buffer.length || end - at < HEADER_BYTES) break;
      if (end - at > LENGTH_BYTES + PUBLICATION_BYTES) break;
      frames.push(buffer.subarray(at, end));
      at = end;
    }
    this.dueCount -= frames.length;
    take({ kind: "Delivered", number: this.subscription, frames, sizeBytes: at - start });
    return at;
  }

  readMessage(buffer, at, end, take) {
    const message = decodeMessage(buffer[at + 4], buffer.subarray(at + HEADER_BYTES, end));
    if (message.kind === "Deliver") {
      if (message.count < 1) throw new WireError("malformed", "Deliver.count: expected 1 or more, got 0");
      this.subscription = message.number;
      this.dueCount = Number(message.count);
      return end;
    }
    if (message.kind === "Welcome") this.expected = LATER;
    if (message.kind === "Fault") this.expected = NOTHING;
    take(message);
    return end;
  }
}

function checkLength(where, length, limitBytes) {
  if (length < 2) throw new WireError("malformed", `${where}: expected a length of 2 or more, got ${length}`);
  if (length > limitBytes) throw new WireError("oversize", `${where}: at most ${limitBytes} bytes are taken, got ${length}`);
}
