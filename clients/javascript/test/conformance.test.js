// The cases of clients/conformance, which every client passes.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";

import { Decoder } from "../src/decoder.js";
import { decodeEvent, encodeEvent, prefixOf } from "../src/events.js";
import { KINDS, WireError, decodeMessage, encodeMessage } from "../src/wire.js";
import { Dialogue } from "./dialogue.js";

const read = async (name) => JSON.parse(await readFile(new URL(`../../conformance/${name}.json`, import.meta.url), "utf8"));
const bytes = (hex) => Uint8Array.from(Buffer.from(hex, "hex"));
const hexOf = (frame) => Buffer.from(frame).toString("hex");

/** A value of a case: numbers are what this client makes of them. */
function valueOf(tagged) {
  if ("int" in tagged) return Number.isSafeInteger(Number(tagged.int)) ? Number(tagged.int) : BigInt(tagged.int);
  if ("float" in tagged) return Number(tagged.float);
  if ("repeat" in tagged) return tagged.repeat.repeat(tagged.count);
  if ("bytes" in tagged) return bytes(tagged.bytes);
  if ("null" in tagged) return null;
  if ("list" in tagged) return tagged.list.map(valueOf);
  if ("map" in tagged) return Object.fromEntries(attributesOf(tagged.map));
  return tagged.text ?? tagged.bool;
}

function attributesOf(tagged) {
  return new Map(Object.entries(tagged).map(([name, value]) => [name, valueOf(value)]));
}

const fieldOf = (field) => (field !== null && typeof field === "object" && "int" in field ? BigInt(field.int) : field);

function messageOf([kind, ...fields]) {
  return { kind, ...Object.fromEntries(Object.keys(KINDS[kind].fields).map((name, place) => [name, fieldOf(fields[place])])) };
}

test("messages have these frames", async () => {
  for (const { message, hex, form } of (await read("frames")).messages) {
    const expected = messageOf(message);
    const frame = bytes(hex);
    assert.deepStrictEqual(decodeMessage(frame[4], frame.subarray(6)), expected);
    if (form === undefined) assert.equal(hexOf(encodeMessage(expected.kind, expected)), hex);
  }
});

test("these frames are refused, however they are cut", async () => {
  for (const { name, after, hex, code } of (await read("frames")).refused) {
    for (const size of [1, 5, Infinity]) {
      const decoder = new Decoder();
      for (const each of after) decoder.feed(bytes(each), () => {});
      const refused = bytes(hex);
      const feed = () => {
        for (let at = 0; at < refused.length; at += size) decoder.feed(refused.subarray(at, at + size), () => assert.fail(name));
      };
      assert.throws(feed, (error) => error instanceof WireError && error.code === code, name);
      assert.throws(() => decoder.feed(bytes("00"), () => {}), WireError, "the first error is the last");
    }
  }
});

test("events have these frames", async () => {
  for (const { name, publisher, sequence, published_ns: publishedNs, attributes, payload, ordered, replayed, hex } of (await read("events")).events) {
    const frame = bytes(hex);
    const event = decodeEvent(frame);
    const { attributes: found, ...others } = event;
    assert.deepStrictEqual(new Map(Object.entries(found)), attributesOf(attributes), name);
    assert.deepStrictEqual(
      others,
      { publisher, sequence: valueOf({ int: sequence }), publishedNs: BigInt(publishedNs), payload: bytes(payload), ordered, replayed },
      name,
    );
    const again = encodeEvent(prefixOf(publisher), sequence, publishedNs, found, event.payload, ordered);
    assert.deepStrictEqual(decodeEvent(again), { ...event, replayed: false }, name);
  }
});

test("what is too large or wrong cannot be published, and the largest can", async () => {
  const { largest, unpublishable } = await read("events");
  const made = ({ attributes, payload_bytes: size = 0 }) => encodeEvent(prefixOf("p"), 1, 0, attributesOf(attributes), new Uint8Array(size), true);
  for (const each of largest) assert.deepStrictEqual(new Map(Object.entries(decodeEvent(made(each)).attributes)), attributesOf(each.attributes), each.name);
  for (const each of unpublishable) assert.throws(() => made(each), (error) => error instanceof WireError && error.code === each.code, each.name);
});

const { dialogues } = await read("dialogues");
for (const { name, client, steps } of dialogues) {
  test(`dialogue: ${name}`, () => {
    const dialogue = new Dialogue(client);
    for (const step of steps) dialogue.perform(step);
  });
}
