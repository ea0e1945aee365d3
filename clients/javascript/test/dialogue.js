// Performs the steps of a dialogue with a machine: docs/reference/conformance.md says what each step means.

import assert from "node:assert/strict";

import { Gap } from "../src/delivery.js";
import { BrokerFaultError } from "../src/errors.js";
import { decodeEvent, encodeEvent, prefixOf } from "../src/events.js";
import { Flush, Phase } from "../src/window.js";
import { limitsOf } from "../src/limits.js";
import { ClientMachine } from "../src/machine.js";
import { Offers } from "../src/offers.js";
import { inboxOf } from "../src/options.js";
import { KINDS, LENGTH_BYTES, PUBLICATION, decodeMessage, encodeMessage } from "../src/wire.js";

const camel = (name) => name.replaceAll(/_(.)/g, (_, letter) => letter.toUpperCase());
const camelled = (object) => Object.fromEntries(Object.entries(object).map(([name, value]) => [camel(name), value]));
const isAny = (value) => value !== null && typeof value === "object" && value.any === true;

function frameOf([kind, ...fields]) {
  if (kind !== "Publication") {
    return encodeMessage(kind, Object.fromEntries(Object.keys(KINDS[kind].fields).map((name, place) => [name, fields[place]])));
  }
  const [publisher, sequence, attributes, payload, ordered] = fields;
  const values = Object.entries(attributes).map(([name, value]) => [name, Number(value.int)]);
  return encodeEvent(prefixOf(publisher), sequence, 0, Object.fromEntries(values), Uint8Array.from(Buffer.from(payload, "hex")), ordered);
}

function* messagesIn(output) {
  const view = new DataView(output.buffer, output.byteOffset, output.byteLength);
  for (let at = 0; at < output.length;) {
    const frame = output.subarray(at, at + LENGTH_BYTES + view.getUint32(at));
    at += frame.length;
    if (frame[4] === PUBLICATION) {
      const { publisher, sequence, attributes, payload, ordered } = decodeEvent(frame);
      const values = Object.entries(attributes).map(([name, value]) => [name, { int: String(value) }]);
      yield ["Publication", publisher, sequence, Object.fromEntries(values), Buffer.from(payload).toString("hex"), ordered];
    } else {
      const { kind, ...fields } = decodeMessage(frame[4], frame.subarray(6));
      yield [kind, ...Object.values(fields)];
    }
  }
}

export class Dialogue {
  #named = new Map();
  #nowS = 1000;

  constructor({ addresses, name, incarnation, token, limits = {} }) {
    this.machine = new ClientMachine({ addresses, name, incarnation, token, limits: limitsOf(camelled(limits)), random: () => 1, retry: false });
    this.machine.start(this.#nowS);
  }

  perform(step) {
    const [[verb, content]] = Object.entries(step);
    this[camel(verb)](content);
    const { machine } = this;
    while (machine.wants === "close") machine.lost(null, this.#nowS);
    machine.changes.length = 0;
  }

  dial(address) {
    assert.equal(this.machine.wants, "dial");
    assert.equal(this.machine.address, address);
    this.machine.dialling(this.#nowS);
    this.machine.connected(this.#nowS);
  }

  send(expected) {
    const found = [];
    for (let output = this.machine.takeOutput(); output.length; output = this.machine.takeOutput()) {
      found.push(...messagesIn(output));
      this.machine.written(this.#nowS);
    }
    const shown = found.map((message, place) => message.map((field, index) => (isAny(expected[place]?.[index]) ? { any: true } : field)));
    assert.deepStrictEqual(shown, expected);
  }

  receive(messages) {
    for (const message of messages) this.machine.received(frameOf(message), this.#nowS);
  }

  lost(reason) {
    if (this.machine.hasTransport) this.machine.lost(reason, this.#nowS);
  }

  passS(seconds) {
    const endS = this.#nowS + seconds;
    for (let deadlineS = this.machine.nextDeadline(); deadlineS <= endS; deadlineS = this.machine.nextDeadline()) {
      this.#nowS = Math.max(this.#nowS, deadlineS);
      this.machine.tick(this.#nowS);
      if (this.machine.wants === "dial") break;
    }
    this.#nowS = endS;
  }

  leave() {
    this.machine.leave(this.#nowS);
  }

  advertise({ as, filter, resume }) {
    this.#named.set(as, this.machine.session.advertise(filter, resume));
  }

  publish({ by, attributes, payload = "", ordered = true }) {
    const source = this.#named.get(by);
    this.machine.session.window.append(source, frameOf(["Publication", source.id, source.sequence + 1, attributes, payload, ordered]));
  }

  flush({ as }) {
    this.#named.set(as, this.machine.session.window.flush());
  }

  subscribe({ as, filter, ...options }) {
    const inbox = inboxOf(filter, camelled(options), this.machine.limits, this.#nowS);
    if (this.machine.session.roams) inbox.remember();
    this.#named.set(as, inbox);
    this.machine.session.subscribe(inbox, this.#nowS);
  }

  discover({ as, filter }) {
    const offers = new Offers(filter);
    this.#named.set(as, offers);
    this.machine.session.discover(offers);
  }

  changes({ of, items }) {
    for (const expected of items) {
      const change = this.#named.get(of).take();
      assert.deepStrictEqual(change === undefined ? [] : Object.values(change), expected);
    }
  }

  #take(name) {
    const inbox = this.#named.get(name);
    return this.machine.session.yieldFrom(inbox, (era, position) => inbox.acknowledge(era, position));
  }

  yield({ of, items }) {
    for (const expected of items) {
      const item = this.#take(of);
      if (item instanceof Gap) assert.deepStrictEqual({ gap: item.count, reason: item.reason }, expected);
      else assert.deepStrictEqual({ publisher: item?.publisher, sequence: item?.sequence, position: item?.position }, expected);
    }
  }

  waitFor(name) {
    assert.equal(this.#take(name), undefined);
  }

  ack({ of, position }) {
    const inbox = this.#named.get(of);
    inbox.acknowledge(inbox.era, position);
    this.machine.session.giveCredit(inbox);
  }

  close(name) {
    const request = this.#named.get(name);
    const { session } = this.machine;
    if (request instanceof Offers) {
      session.undiscover(request);
    } else if ("sequence" in request) {
      session.unadvertise(request);
    } else {
      request.finish();
      session.unsubscribe(request);
    }
  }

  is(condition) {
    const { machine } = this;
    const [[what, value]] = Object.entries(condition);
    const named = this.#named.get(Array.isArray(value) ? value[0] : value);
    switch (what) {
      case "state": return assert.equal(machine.state, value);
      case "open": return assert.equal(named.phase, Phase.OPEN);
      case "opening": return assert.equal(named.phase, Phase.OPENING);
      case "wanted": return assert.equal(named.isWanted, true);
      case "unwanted": return assert.equal(named.isWanted, false);
      case "done": return assert.ok(named instanceof Flush && named.isDone);
      case "pending": return assert.ok(named instanceof Flush && !named.isDone);
      case "ended": return assert.equal(named.ended?.code, value[1]);
      case "failed":
        assert.ok(machine.failure instanceof BrokerFaultError, String(machine.failure));
        return assert.equal(machine.failure.code, value);
      default: return assert.fail(`nothing is ${what}`);
    }
  }
}
