// Events as their publishers make them, and as subscribers get them.

import { writeAttributes } from "./values.js";
import {
  HEADER_BYTES, LENGTH_BYTES, ORDERED, PAYLOAD_BYTES, PUBLICATION, REPLAYED, WireError, Writer, decodeBody, framed,
} from "./wire.js";

const NUMBER_HEAD = 9;
const EMPTY = new Uint8Array(0);
const room = new Writer(4096);

/** Take a payload: bytes, or a text that is written in UTF-8. */
export function payloadOf(payload) {
  if (payload === undefined) return EMPTY;
  if (typeof payload === "string") return new TextEncoder().encode(payload);
  if (payload instanceof ArrayBuffer) return new Uint8Array(payload);
  if (ArrayBuffer.isView(payload)) return new Uint8Array(payload.buffer, payload.byteOffset, payload.byteLength);
  throw new WireError("malformed", `payload: expected bytes or text, got ${payload === null ? "null" : typeof payload}`);
}

/** The first bytes of the body of everything that a publisher publishes. */
export function prefixOf(publisher) {
  const writer = new Writer();
  writer.array(5);
  writer.text(publisher);
  return writer.bytes();
}

/** The frame of an event. `WireError` says what no broker would take. */
export function encodeEvent(prefix, sequence, publishedNs, attributes, payload, ordered) {
  const bytes = payloadOf(payload);
  if (bytes.length > PAYLOAD_BYTES) throw new WireError("oversize", `payload: at most ${PAYLOAD_BYTES} bytes are taken, got ${bytes.length}`);
  const writer = bytes.length > room.room.length ? new Writer(prefix.length + 256 + bytes.length) : room;
  writer.size = HEADER_BYTES;
  writer.raw(prefix);
  writer.long(sequence);
  writer.long(publishedNs);
  writeAttributes(writer, attributes);
  writer.blob(bytes);
  writer.view.setUint32(0, writer.size - LENGTH_BYTES);
  writer.room[4] = PUBLICATION;
  writer.room[5] = ordered ? ORDERED : 0;
  return writer.bytes();
}

/** The same event under another id and number: only the beginning of its frame changes. */
export function renumbered(frame, oldPrefix, prefix, sequence) {
  const writer = new Writer(frame.length + prefix.length);
  writer.raw(prefix);
  writer.long(sequence);
  writer.raw(frame.subarray(HEADER_BYTES + oldPrefix.length + NUMBER_HEAD));
  return framed(PUBLICATION, frame[5], writer.bytes());
}

/** The event in a frame. A broker has checked it; `WireError` says that it is none all the same. */
export function decodeEvent(frame) {
  const items = decodeBody(frame.subarray(HEADER_BYTES), "Publication");
  if (!Array.isArray(items) || items.length !== 5) throw new WireError("malformed", "Publication: expected 5 fields");
  const [publisher, sequence, publishedNs, attributes, payload] = items;
  if (typeof publisher !== "string" || !(payload instanceof Uint8Array) || attributes === null || typeof attributes !== "object") {
    throw new WireError("malformed", "Publication: expected a publisher, two numbers, attributes and a payload");
  }
  return {
    publisher, sequence, publishedNs: BigInt(publishedNs), attributes, payload,
    ordered: (frame[5] & ORDERED) !== 0, replayed: (frame[5] & REPLAYED) !== 0,
  };
}
