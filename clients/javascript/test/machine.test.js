// What only this client does, without a broker.

import assert from "node:assert/strict";
import { test } from "node:test";

import { filter } from "../src/index.js";
import { VERSION } from "../src/wire.js";
import { Dialogue } from "./dialogue.js";

test("a page returns to the WebSocket that it dialled, whatever the broker's own address is", () => {
  const address = "ws://b1:7413";
  const dialogue = new Dialogue({ addresses: [address, "ws://b2:7413"], name: "page", incarnation: "i", token: "" });
  const hello = ["Hello", VERSION, "client", "page", "i", "", "", "", 0];
  const welcome = ["Welcome", VERSION, "B1", "k", "pairwise", 100, 5000, "", 0];
  for (const step of [
    { dial: address }, { send: [hello] }, { receive: [welcome, ["ReturnAddress", "b1:7412"]] }, { lost: null }, { pass_s: 0.2 }, { dial: address },
  ]) dialogue.perform(step);
});

test("values are written into a filter as the language has them", () => {
  assert.equal(filter`x == ${'a"b'} and y in ${[1, 2n]} and z == ${true}`, "x == \"a\\\"b\" and y in (1, 2,) and z == True");
  assert.equal(filter`x == ${"\u2028\n"}`, "x == \"\\u2028\\n\"");
  assert.throws(() => filter`x > ${NaN}`, TypeError);
  assert.throws(() => filter`x > ${{}}`, TypeError);
});
