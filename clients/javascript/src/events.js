// Events as their publishers make them, and as subscribers get them.

import { CborError, encode } from "./cbor.js";
import {
  ATTRIBUTES_BYTES, HEADER_BYTES, LENGTH_BYTES, ORDERED, PAYLOAD_BYTES, PUBLICATION, REPLAYED, WireError, Writer, decodeBody, framed, isWellFormed, sizeOf,
} from "./wire.js";

const ATTRIBUTES_MAX = 256;
const NAME_BYTES = 255;
const TEXT_BYTES = 64 * 1024;
const IDENTIFIER = /^[\p{XID_Start}_]\p{XID_Continue}*$/u;
const NAMES_KNOWN_MAX = 4096;
const NUMBER_HEAD = 9;

const known = new Map();
const EMPTY = new Uint8Array(0);
const room = new Writer(4096);

/** The CBOR of a name; throws `WireError` for one that no broker takes. */
function encodedName(name) {
  const found = known.get(name);
  if (found !== undefined) return found;
  if (!isWellFormed(name) || !name.split(".").every((part) => IDENTIFIER.test(part))) {
    throw new WireError("malformed", `attributes: expected names of identifiers joined by dots, got ${JSON.stringify(name)}`);
  }
  if (sizeOf(name) > NAME_BYTES) throw new WireError("oversize", `attributes: a name has at most ${NAME_BYTES} bytes: ${name}`);
  if (known.size >= NAMES_KNOWN_MAX) known.clear();
  const encoded = encode(name);
  known.set(name, encoded);
  return encoded;
}

function checkValue(value, name) {
  switch (typeof value) {
    case "number":
    case "boolean":
      return;
    case "bigint":
      if (BigInt.asIntN(64, value) !== value) throw new WireError("oversize", `attributes.${name}: expected a whole number of 64 bits with sign`);
      return;
    case "string":
      if (!isWellFormed(value)) throw new WireError("malformed", `attributes.${name}: expected text that UTF-8 can carry`);
      if (value.length > TEXT_BYTES / 3 && sizeOf(value) > TEXT_BYTES) {
        throw new WireError("oversize", `attributes.${name}: at most ${TEXT_BYTES} bytes of text are taken`);
      }
      return;
    default:
      throw new WireError("malformed", `attributes.${name}: expected text, a truth value or a number, got ${value === null ? "null" : typeof value}`);
  }
}

function writeAttributes(writer, attributes) {
  if (attributes === null || typeof attributes !== "object") {
    throw new WireError("malformed", `attributes: expected an object of names and values, got ${attributes === null ? "null" : typeof attributes}`);
  }
  const entries = attributes instanceof Map ? [...attributes] : Object.entries(attributes);
  if (entries.length > ATTRIBUTES_MAX) throw new WireError("oversize", `attributes: at most ${ATTRIBUTES_MAX} are taken, got ${entries.length}`);
  const start = writer.size;
  writer.head(5, entries.length);
  for (const [name, value] of entries) {
    const encoded = encodedName(name);
    checkValue(value, name);
    writer.raw(encoded);
    writer.value(value);
    if (writer.size - start > ATTRIBUTES_BYTES) throw new WireError("oversize", `attributes: at most ${ATTRIBUTES_BYTES} bytes are taken`);
  }
}

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
  writer.head(4, 5);
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
  writer.long(0, sequence);
  writer.long(0, publishedNs);
  try {
    writeAttributes(writer, attributes);
  } catch (error) {
    throw error instanceof CborError ? new WireError("malformed", error.message) : error;
  }
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
  writer.long(0, sequence);
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
