// Attributes of events: which names and values there may be.
//
// A value is a text, a number, a truth value, null, or an array or object of values: 8 levels of these, and 1,024 values
// inside all attributes of an event.

import { encode } from "./cbor.js";
import { ATTRIBUTES_BYTES, WireError, isWellFormed, sizeOf } from "./wire.js";

const ATTRIBUTES_MAX = 256;
const NAME_BYTES = 255;
const TEXT_BYTES = 64 * 1024;
const LEVELS_MAX = 8;
const VALUES_MAX = 1024;
const IDENTIFIER = /^[\p{XID_Start}_]\p{XID_Continue}*$/u;
const KNOWN_MAX = 4096;

/** The CBOR of names that programs here use. */
const known = new Map();

function malformed(where, expected) {
  throw new WireError("malformed", `${where}: expected ${expected}`);
}

function oversize(where, limit, unit) {
  throw new WireError("oversize", `${where}: at most ${limit} ${unit} are taken`);
}

/** What a value is called in the text of an error. */
function called(value) {
  if (value === null || typeof value !== "object") return String(value === null ? "null" : typeof value);
  return value.constructor?.name ?? "object";
}

/** The names and values of an object or a `Map`; undefined for anything else. */
function entriesOf(value) {
  if (value instanceof Map) return [...value];
  if (value === null || typeof value !== "object") return undefined;
  const prototype = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null ? Object.entries(value) : undefined;
}

/** The CBOR of a name; throws `WireError` for one that no broker takes. */
function encodedName(name) {
  const found = known.get(name);
  if (found !== undefined) return found;
  if (typeof name !== "string" || !isWellFormed(name) || !name.split(".").every((part) => IDENTIFIER.test(part))) {
    malformed("attributes", `names of identifiers joined by dots, got ${JSON.stringify(name)}`);
  }
  if (sizeOf(name) > NAME_BYTES) oversize(`attributes: ${name}`, NAME_BYTES, "bytes of a name");
  if (known.size >= KNOWN_MAX) known.clear();
  const encoded = encode(name);
  known.set(name, encoded);
  return encoded;
}

function checkText(text, where) {
  if (!isWellFormed(text)) malformed(where, "text that UTF-8 can carry");
  if (text.length > TEXT_BYTES / 3 && sizeOf(text) > TEXT_BYTES) oversize(where, TEXT_BYTES, "bytes of text");
}

function checkKey(key, where) {
  if (typeof key !== "string" || !isWellFormed(key) || key === "") malformed(where, `keys that are texts of 1 to ${NAME_BYTES} bytes`);
  if (key.length > NAME_BYTES / 3 && sizeOf(key) > NAME_BYTES) oversize(where, NAME_BYTES, "bytes of a key");
}

/** Throw `WireError` for what no attribute may be; return how many values are inside it. */
function checkValue(value, where, level) {
  switch (typeof value) {
    case "number":
    case "boolean":
      return 0;
    case "string":
      checkText(value, where);
      return 0;
    case "bigint":
      if (BigInt.asIntN(64, value) !== value) throw new WireError("oversize", `${where}: expected a whole number of 64 bits with sign`);
      return 0;
    default:
      return value === null ? 0 : checkInside(value, where, level + 1);
  }
}

function checkInside(value, where, level) {
  const entries = Array.isArray(value) ? [...value.entries()] : entriesOf(value);
  if (entries === undefined) malformed(where, `text, a number, a truth value, null, an array or a plain object, got ${called(value)}`);
  if (level > LEVELS_MAX) oversize(where, LEVELS_MAX, "levels of arrays and objects");
  let count = entries.length;
  for (const [key, each] of entries) {
    if (count > VALUES_MAX) oversize(where, VALUES_MAX, "values in arrays and objects");
    if (typeof key !== "number") checkKey(key, where);
    count += checkValue(each, `${where}[${key}]`, level);
  }
  return count;
}

/** Write attributes; throws `WireError` for those that no broker takes. */
export function writeAttributes(writer, attributes) {
  const entries = entriesOf(attributes);
  if (entries === undefined) malformed("attributes", `an object of names and values, got ${called(attributes)}`);
  if (entries.length > ATTRIBUTES_MAX) oversize("attributes", ATTRIBUTES_MAX, "attributes");
  const start = writer.size;
  let inside = 0;
  writer.map(entries.length);
  for (const [name, value] of entries) {
    const encoded = encodedName(name);
    inside += checkValue(value, `attributes.${name}`, 0);
    if (inside > VALUES_MAX) oversize("attributes", VALUES_MAX, "values in arrays and objects");
    writer.raw(encoded);
    writer.value(value);
    if (writer.size - start > ATTRIBUTES_BYTES) oversize("attributes", ATTRIBUTES_BYTES, "bytes");
  }
}
