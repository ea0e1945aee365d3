// CBOR (RFC 8949) as far as frames use it: definite lengths, no tags, keys that are texts, and nothing after the item.
//
// Whole numbers come out as numbers if JavaScript has them exactly, and as BigInt if not. A number without a fraction
// goes out as a whole number if it is exact; filters take 1 and 1.0 for the same.

const NUMBER = 0;
const NEGATIVE = 1;
const BYTES = 2;
const TEXT = 3;
const ARRAY = 4;
const MAP = 5;
const TAG = 6;
const SIMPLE = 7;
const DEPTH_MAX = 64;
/** Texts of fewer characters have their length in the head. */
const SHORT = 24;
const INT64_MAX = 2n ** 63n - 1n;
const INT64_MIN = -(2n ** 63n);

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Bytes that are no plain CBOR, or a value that has no CBOR here. */
export class CborError extends Error {}

/** Gathers bytes; `bytes()` gives them. */
export class Writer {
  constructor(sizeBytes = 256) {
    this.room = new Uint8Array(sizeBytes);
    this.view = new DataView(this.room.buffer);
    this.size = 0;
  }

  bytes() {
    return this.room.slice(0, this.size);
  }

  reserve(sizeBytes) {
    const needed = this.size + sizeBytes;
    if (needed <= this.room.length) return;
    const room = new Uint8Array(Math.max(needed, 2 * this.room.length));
    room.set(this.room);
    this.room = room;
    this.view = new DataView(room.buffer);
  }

  raw(bytes) {
    this.reserve(bytes.length);
    this.room.set(bytes, this.size);
    this.size += bytes.length;
  }

  /** The head of an item, as short as it can be. */
  head(major, value) {
    this.reserve(9);
    const at = this.size;
    const type = major << 5;
    if (value < 24) {
      this.room[at] = type | Number(value);
      this.size += 1;
    } else if (value < 0x100) {
      this.room[at] = type | 24;
      this.room[at + 1] = Number(value);
      this.size += 2;
    } else if (value < 0x10000) {
      this.room[at] = type | 25;
      this.view.setUint16(at + 1, Number(value));
      this.size += 3;
    } else if (value < 0x100000000) {
      this.room[at] = type | 26;
      this.view.setUint32(at + 1, Number(value));
      this.size += 5;
    } else {
      this.room[at] = type | 27;
      this.view.setBigUint64(at + 1, BigInt(value));
      this.size += 9;
    }
  }

  /** A whole number, 0 or more, in 9 bytes, whatever it is. */
  long(value) {
    this.reserve(9);
    this.room[this.size] = (NUMBER << 5) | 27;
    this.view.setBigUint64(this.size + 1, BigInt(value));
    this.size += 9;
  }

  /** The head of an array of so many items. */
  array(count) {
    this.head(ARRAY, count);
  }

  /** The head of a map of so many pairs. */
  map(count) {
    this.head(MAP, count);
  }

  text(text) {
    if (text.length < SHORT && this.ascii(text)) return;
    const bytes = encoder.encode(text);
    this.head(TEXT, bytes.length);
    this.raw(bytes);
  }

  /** Write a short text character by character, which is quicker than to encode it; false if it is not of ASCII. */
  ascii(text) {
    this.reserve(1 + SHORT);
    const { room, size } = this;
    room[size] = (TEXT << 5) | text.length;
    for (let place = 0; place < text.length; place += 1) {
      const code = text.charCodeAt(place);
      if (code > 127) return false;
      room[size + 1 + place] = code;
    }
    this.size += 1 + text.length;
    return true;
  }

  blob(bytes) {
    this.head(BYTES, bytes.length);
    this.raw(bytes);
  }

  whole(value) {
    if (value >= 0) this.head(NUMBER, value);
    else this.head(NEGATIVE, typeof value === "bigint" ? -1n - value : -1 - value);
  }

  number(value) {
    if (Number.isSafeInteger(value) && !Object.is(value, -0)) {
      this.whole(value);
      return;
    }
    this.reserve(9);
    this.room[this.size] = 0xfb;
    this.view.setFloat64(this.size + 1, value);
    this.size += 9;
  }

  simple(code) {
    this.reserve(1);
    this.room[this.size] = code;
    this.size += 1;
  }

  /** Any value; raises `CborError` for one that has no CBOR here. */
  value(value) {
    switch (typeof value) {
      case "string": return this.text(value);
      case "number": return this.number(value);
      case "boolean": return this.simple(value ? 0xf5 : 0xf4);
      case "bigint":
        if (value < INT64_MIN || value > INT64_MAX) throw new CborError("a whole number has 64 bits with sign");
        return this.whole(value);
      case "object": return this.object(value);
      default: throw new CborError(`${typeof value} has no CBOR`);
    }
  }

  object(value) {
    if (value === null) this.simple(0xf6);
    else if (value instanceof Uint8Array) this.blob(value);
    else if (Array.isArray(value)) {
      this.array(value.length);
      for (const each of value) this.value(each);
    } else {
      const entries = value instanceof Map ? [...value] : Object.entries(value);
      this.map(entries.length);
      for (const [name, each] of entries) {
        this.text(name);
        this.value(each);
      }
    }
  }
}

/** The CBOR of one value. */
export function encode(value) {
  const writer = new Writer();
  writer.value(value);
  return writer.bytes();
}

/** The value of the one item that these bytes are; `hasFloats` says whether there may be floating numbers in it. */
export function decode(bytes, hasFloats = true) {
  const reader = new Reader(bytes, hasFloats);
  const value = reader.item(0);
  if (reader.at !== bytes.length) throw new CborError("there are more bytes after the item");
  return value;
}

class Reader {
  constructor(bytes, hasFloats) {
    this.source = bytes;
    this.hasFloats = hasFloats;
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.at = 0;
  }

  take(sizeBytes) {
    const start = this.at;
    if (sizeBytes > this.source.length - start) throw new CborError("the bytes end within an item");
    this.at = start + sizeBytes;
    return start;
  }

  /** The number in a head: a BigInt only if JavaScript has no such number. */
  argument(detail) {
    if (detail < 24) return detail;
    switch (detail) {
      case 24: return this.source[this.take(1)];
      case 25: return this.view.getUint16(this.take(2));
      case 26: return this.view.getUint32(this.take(4));
      case 27: {
        const value = this.view.getBigUint64(this.take(8));
        return value <= Number.MAX_SAFE_INTEGER ? Number(value) : value;
      }
      default: throw new CborError("indefinite lengths are not used");
    }
  }

  item(depth) {
    if (depth > DEPTH_MAX) throw new CborError("items are nested too deeply");
    const first = this.source[this.take(1)];
    const major = first >> 5;
    const detail = first & 31;
    if (major === SIMPLE) return this.simple(detail);
    const count = this.argument(detail);
    switch (major) {
      case NUMBER: return count;
      case NEGATIVE: return typeof count === "bigint" || !Number.isSafeInteger(-1 - count) ? -1n - BigInt(count) : -1 - count;
      case BYTES: {
        const start = this.take(count);
        return this.source.slice(start, this.at);
      }
      case TEXT: return this.text(count);
      case ARRAY: return this.array(count, depth);
      case MAP: return this.map(count, depth);
      default: throw new CborError(major === TAG ? "tags are not used" : "this is no item");
    }
  }

  text(sizeBytes) {
    const start = this.take(sizeBytes);
    if (sizeBytes < SHORT) {
      let text = "";
      let place = start;
      for (; place < this.at && this.source[place] < 128; place += 1) text += String.fromCharCode(this.source[place]);
      if (place === this.at) return text;
    }
    try {
      return decoder.decode(this.source.subarray(start, this.at));
    } catch {
      throw new CborError("a text is no UTF-8");
    }
  }

  array(count, depth) {
    if (count > this.source.length - this.at) throw new CborError("the bytes end within an item");
    const items = [];
    for (let place = 0; place < count; place += 1) items.push(this.item(depth + 1));
    return items;
  }

  map(count, depth) {
    if (count > this.source.length - this.at) throw new CborError("the bytes end within an item");
    const found = {};
    for (let place = 0; place < count; place += 1) {
      if (this.source[this.at] >> 5 !== TEXT) throw new CborError("the keys of a map are texts");
      const name = this.item(depth + 1);
      if (Object.hasOwn(found, name)) throw new CborError("a key comes twice");
      const value = this.item(depth + 1);
      // An assignment to `__proto__` would not make a key.
      if (name === "__proto__") Object.defineProperty(found, name, { value, writable: true, enumerable: true, configurable: true });
      else found[name] = value;
    }
    return found;
  }

  simple(detail) {
    if (detail >= 25 && !this.hasFloats) throw new CborError("a floating number is not expected here");
    switch (detail) {
      case 20: return false;
      case 21: return true;
      case 22: return null;
      case 25: return half(this.view.getUint16(this.take(2)));
      case 26: return this.view.getFloat32(this.take(4));
      case 27: return this.view.getFloat64(this.take(8));
      default: throw new CborError("this simple value is not used");
    }
  }
}

/** A floating number of 16 bits. */
function half(bits) {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (exponent ? (1 + fraction / 1024) * 2 ** (exponent - 15) : (fraction / 1024) * 2 ** -14);
}
