// Frames: their kinds, what is in each, and how large they may be. The page docs/reference/wire.md is the reference.
//
// A message is an object with its `kind`, a name of the table, and its fields.

import { CborError, decode, encode, Writer } from "./cbor.js";

export const VERSION = 4;
export const HEADER_BYTES = 6;
export const LENGTH_BYTES = 4;
export const PUBLICATION = 0x10;
export const ORDERED = 0x01;
export const REPLAYED = 0x02;

const KIB = 1024;
const ID_BYTES = KIB;
const PROSE_BYTES = 8 * KIB;
const CONTROL_BYTES = 16 * KIB;
const PAGE_BYTES = 64 * KIB;
const NUMBERS_MAX = KIB;
const NUMBER_MAX = 2n ** 63n - 1n;
export const PAYLOAD_BYTES = KIB * KIB;
export const ATTRIBUTES_BYTES = 256 * KIB;
export const PUBLICATION_BYTES = PAYLOAD_BYTES + ATTRIBUTES_BYTES + ID_BYTES + 64;

/** A frame that cannot be taken, or a message that has no frame. `code` is a word of the protocol. */
export class WireError extends Error {
  constructor(code, text) {
    super(text);
    this.code = code;
  }
}

const utf8 = new TextEncoder();

/** The size of a text in UTF-8. */
export function sizeOf(text) {
  return utf8.encode(text).length;
}

function refuse(where, expected) {
  throw new WireError("malformed", `${where}: expected ${expected}`);
}

function text(limitBytes) {
  return (value, where) => {
    if (typeof value !== "string" || !isWellFormed(value)) refuse(where, "text");
    if (sizeOf(value) > limitBytes) throw new WireError("oversize", `${where}: at most ${limitBytes} bytes of text are taken`);
    return value;
  };
}

/** Whether a text has a form in UTF-8: half of a surrogate pair has none. */
export function isWellFormed(value) {
  return value.isWellFormed?.() ?? !/[\ud800-\udfff]/u.test(value);
}

function number(value, where) {
  const isWhole = typeof value === "bigint" || Number.isSafeInteger(value);
  if (!isWhole || value < 0) refuse(where, "a whole number of 0 or more");
  if (value > NUMBER_MAX) throw new WireError("oversize", `${where}: expected a number of at most 2**63 - 1`);
  return value;
}

function truth(value, where) {
  if (typeof value !== "boolean") refuse(where, "a truth value");
  return value;
}

function list(read, countMax) {
  return (value, where) => {
    if (!Array.isArray(value)) refuse(where, "an array");
    if (value.length > countMax) throw new WireError("oversize", `${where}: at most ${countMax} items are taken`);
    return value.map((each, place) => read(each, `${where}[${place}]`));
  };
}

function oneOf(...words) {
  return (value, where) => (words.includes(value) ? value : refuse(where, words.join(" or ")));
}

const id = text(ID_BYTES);
const prose = text(PROSE_BYTES);
const numbers = list(number, NUMBERS_MAX);

/** A publisher's id and its filter. */
function offer(value, where) {
  if (!Array.isArray(value) || value.length !== 2) refuse(where, "an id and a filter");
  return [id(value[0], where), prose(value[1], where)];
}

/** Every kind of a client's conversation but the publication: its number, its fields in their order, and its size. */
export const KINDS = {
  Hello: { code: 0x01, fields: { version: number, role: oneOf("client", "broker"), name: id, incarnation: id, ordering: id, token: prose, session: id, received: number } },
  Welcome: { code: 0x02, fields: { version: number, name: id, incarnation: id, ordering: id, creditBytes: number, heartbeatMs: number, session: id, received: number } },
  Fault: { code: 0x03, fields: { code: id, text: prose } },
  Grant: { code: 0x04, fields: { sizeBytes: number } },
  Ping: { code: 0x05, fields: { number } },
  Pong: { code: 0x06, fields: { number } },
  Advertise: { code: 0x20, fields: { number, filter: prose, resume: id } },
  Unadvertise: { code: 0x21, fields: { number } },
  Subscribe: {
    code: 0x22,
    fields: {
      number, filter: prose, ordered: truth, credit: number, boundBytes: number, policy: oneOf("disconnect", "drop"),
      durable: id, ageS: number, resume: id, after: numbers, replay: numbers,
    },
  },
  Unsubscribe: { code: 0x23, fields: { number } },
  Credit: { code: 0x24, fields: { number, count: number, taken: number } },
  Flush: { code: 0x25, fields: { number } },
  Explain: { code: 0x26, fields: { number, publisher: id, sequence: number, about: oneOf("waiting", "way", "durable", "uplinks", "brokers", "traffic") } },
  Forget: { code: 0x27, fields: { number, durable: id } },
  Move: { code: 0x28, fields: { number, broker: id, uplink: id, method: id } },
  Discover: { code: 0x2c, fields: { number, filter: prose } },
  Undiscover: { code: 0x2d, fields: { number } },
  FollowInterest: { code: 0x2e, fields: { number, publisher: number } },
  Advertised: { code: 0x30, fields: { number, publisher: id, taken: number, isWanted: truth } },
  Subscribed: { code: 0x31, fields: { number } },
  Refused: { code: 0x32, fields: { number, code: id, text: prose } },
  Deliver: { code: 0x33, fields: { number, count: number } },
  Gap: { code: 0x34, fields: { number, count: number, reason: id } },
  Ended: { code: 0x35, fields: { number, code: id, text: prose } },
  Flushed: { code: 0x36, fields: { number } },
  Explained: { code: 0x37, fields: { number, lines: list(prose, Infinity), more: truth }, sizeBytes: PAGE_BYTES },
  Placed: { code: 0x38, fields: { number, subscription: id, position: number, goesOn: truth } },
  Forgotten: { code: 0x39, fields: { number } },
  Wanted: { code: 0x3a, fields: { number, isWanted: truth } },
  ReturnAddress: { code: 0x3b, fields: { address: id } },
  InterestListed: { code: 0x3d, fields: { number, added: list(prose, Infinity), removed: list(prose, Infinity), more: truth }, sizeBytes: PAGE_BYTES },
  Discovered: {
    code: 0x3e, fields: { number, added: list(offer, Infinity), removed: list(prose, Infinity), anew: truth, more: truth }, sizeBytes: PAGE_BYTES,
  },
};

export const NAMES = new Map(Object.entries(KINDS).map(([name, kind]) => [kind.code, name]));

/** The largest frame of a kind, without the 4 bytes of its length. */
export function limitOf(code) {
  if (code === PUBLICATION) return PUBLICATION_BYTES;
  return KINDS[NAMES.get(code)].sizeBytes ?? CONTROL_BYTES;
}

/** Put length, kind and flags before a body. */
export function framed(code, flags, body) {
  const frame = new Uint8Array(HEADER_BYTES + body.length);
  new DataView(frame.buffer).setUint32(0, body.length + 2);
  frame[4] = code;
  frame[5] = flags;
  frame.set(body, HEADER_BYTES);
  return frame;
}

/** The frame of a message that is no publication. */
export function encodeMessage(name, message) {
  const { code, fields } = KINDS[name];
  const values = Object.entries(fields).map(([field, check]) => check(message[field], `${name}.${field}`));
  const frame = framed(code, 0, encode(values));
  if (frame.length - LENGTH_BYTES > limitOf(code)) throw new WireError("oversize", `${name}: at most ${limitOf(code)} bytes are taken`);
  return frame;
}

/** The item of a body; only events have floating numbers in it. */
export function decodeBody(body, where) {
  try {
    return decode(body, where === "Publication");
  } catch (error) {
    if (!(error instanceof CborError)) throw error;
    throw new WireError("malformed", `${where}: the body is not plain CBOR: ${error.message}`);
  }
}

/** The message in the body of a frame that is no publication. */
export function decodeMessage(code, body) {
  const name = NAMES.get(code);
  const items = decodeBody(body, name);
  if (!Array.isArray(items)) refuse(name, "an array of fields");
  const isGreeting = name === "Welcome" || name === "Hello";
  if (isGreeting && typeof items[0] === "number" && items[0] !== VERSION) {
    throw new WireError("version", `${name}.version: this end speaks version ${VERSION}, the other ${items[0]}`);
  }
  const fields = Object.entries(KINDS[name].fields);
  if (items.length !== fields.length) refuse(name, `${fields.length} fields, got ${items.length}`);
  const message = { kind: name };
  fields.forEach(([field, check], place) => { message[field] = check(items[place], `${name}.${field}`); });
  return message;
}

/** Join chunks into one. */
export function join(chunks) {
  if (chunks.length === 1) return chunks[0];
  const joined = new Uint8Array(chunks.reduce((sum, each) => sum + each.length, 0));
  let at = 0;
  for (const each of chunks) {
    joined.set(each, at);
    at += each.length;
  }
  return joined;
}

export { Writer };
