// The whole client at real brokers, over TCP. Pages do the same over WebSocket in tests/clients/test_pages.py.

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import {
  ClosedError, ConnectionFailedError, Gap, GapError, InvalidPublicationError, PublisherEndedError, RefusedError, SlowSubscriberError,
  connect, filter,
} from "../src/index.js";
import { Broker } from "./broker.js";

const LIMIT = { timeout: 30_000 };

/** A client that is closed with the test. */
async function client(t, address, options) {
  const made = await connect(address, options);
  t.after(() => made.close());
  return made;
}

/** So many deliveries, or gaps. */
async function collect(deliveries, count) {
  const found = [];
  for await (const each of deliveries) if (found.push(each) === count) break;
  return found;
}

async function journal(t) {
  const folder = await mkdtemp(join(tmpdir(), "concord-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  return ["--journal", folder];
}

test("a broker", LIMIT, async (t) => {
  const broker = await Broker.start(t);

  await t.test("delivers what matches, with every value as it was published", async (t) => {
    const alice = await client(t, broker.address, { name: "alice" });
    const deliveries = await alice.subscribe(filter`symbol == ${"IBM"} and exists(whole)`);
    const publisher = await alice.advertise("exists(symbol)");
    const attributes = {
      symbol: "IBM", price: 101.5, whole: 2n ** 63n - 1n, least: -(2n ** 63n), small: -7, exact: 2 ** 53 - 1, nothing: NaN, all: Infinity,
      minus: -0, yes: true, no: false, "dotted.name": "é\u0000\"'\u{1f600}",
    };
    await publisher.publish({ symbol: "SAP", whole: 1 });
    assert.equal(await publisher.publish(attributes, { payload: new Uint8Array([0, 255]), ordered: false }), 2);
    const [delivery] = await collect(deliveries, 1);
    assert.deepStrictEqual(delivery.attributes, attributes);
    assert.deepStrictEqual(delivery.payload, new Uint8Array([0, 255]));
    assert.deepStrictEqual([delivery.publisher, delivery.sequence, delivery.position], [publisher.id, 2, 1]);
    assert.deepStrictEqual([delivery.ordered, delivery.replayed], [false, false]);
    assert.ok(Math.abs(Date.now() - delivery.publishedAt) < 30_000);
    assert.match(publisher.id, /^alice@B1\./);
    assert.deepStrictEqual([alice.state, alice.broker], ["connected", "B1"]);
  });

  await t.test("says why it refuses", async (t) => {
    const alice = await client(t, broker.address);
    await assert.rejects(alice.subscribe("price = 5"), (error) => error instanceof RefusedError && /column 7/.test(error.message));
    await assert.rejects(alice.advertise("x =="), RefusedError);
    await assert.rejects(alice.forget("nothing"), (error) => error instanceof RefusedError && error.code === "unknown");
    const publisher = await alice.advertise("price > 0");
    await assert.rejects(publisher.publish({ "no name": 1 }), InvalidPublicationError);
    await assert.rejects(publisher.publish({ price: undefined }), InvalidPublicationError);
    await assert.rejects(publisher.publish({ price: 2n ** 63n }), InvalidPublicationError);
    await assert.rejects(publisher.publish({ price: 1 }, { payload: 3 }), InvalidPublicationError);
    await assert.rejects(publisher.publish({ price: 1 }, { payload: new Uint8Array(2 ** 20 + 1) }), InvalidPublicationError);
    await assert.rejects(
      publisher.publish({ price: -1 }, { confirm: true }),
      (error) => error instanceof PublisherEndedError && error.code === "not-advertised",
    );
  });

  await t.test("gets an acknowledged durable subscription to go on where it was", async (t) => {
    const name = { name: "auditor" };
    const options = { durable: "audit", ack: "manual", maxOpen: 10 };
    const first = await connect(broker.address, name);
    const before = await first.subscribe("kind == 'trade'", options);
    assert.equal(before.isResumed, false);
    const publisher = await first.advertise("kind == 'trade'");
    for (let number = 1; number <= 5; number += 1) await publisher.publish({ kind: "trade", number });
    const had = await collect(before, 3);
    had[1].ack();
    await first.close();
    assert.throws(() => had[2].ack(), ClosedError);

    const second = await client(t, broker.address, name);
    const after = await second.subscribe("kind == 'trade'", options);
    assert.equal(after.isResumed, true);
    assert.deepStrictEqual((await collect(after, 3)).map(({ attributes }) => attributes.number), [3, 4, 5]);
    assert.throws(() => after.ack(99), RangeError);
    assert.equal((await second.durableSubscriptions()).length, 1);
    await after.close();
    await second.forget("audit");
    assert.deepStrictEqual(await second.durableSubscriptions(), []);
  });

  await t.test("shows what is on offer, and its changes", async (t) => {
    const alice = await client(t, broker.address);
    const watch = await alice.advertisements("offered == 1");
    assert.equal((await watch.next()).value.kind, "complete");
    const publisher = await alice.advertise("offered > 0");
    assert.deepStrictEqual((await watch.next()).value, { kind: "added", publisher: publisher.id, filter: "offered > 0" });
    assert.equal(watch.standing.get(publisher.id), "offered > 0");
    await publisher.close();
    assert.equal((await watch.next()).value.kind, "removed");
    await watch.close();
    assert.deepStrictEqual(await watch.next(), { value: undefined, done: true });
    await assert.rejects(alice.advertisements("x =="), RefusedError);
  });

  await t.test("tells a slow program what is missing, or ends its subscription", async (t) => {
    const slow = await client(t, broker.address, { limits: { creditFirst: 2, creditMin: 2, creditMax: 2 } });
    const quick = await client(t, broker.address);
    const options = { boundBytes: 64 * 1024 };
    const dropping = await slow.subscribe("x > 0", { ...options, policy: "drop" });
    const ending = await slow.subscribe("x > 0", options);
    const publisher = await quick.advertise("x > 0");
    for (let x = 1; x <= 100; x += 1) await publisher.publish({ x }, { payload: new Uint8Array(4096) });
    await publisher.flush();
    let missing = 0;
    let seen = 0;
    for await (const each of dropping.withGaps()) {
      if (each instanceof Gap) missing += each.count;
      else seen += 1;
      if (seen + missing === 100) break;
    }
    assert.ok(missing > 50 && seen > 10);
    await assert.rejects(collect(ending, 100), SlowSubscriberError);
    const again = collect(dropping, 1);
    await publisher.publish({ x: 101 });
    assert.equal((await again)[0].attributes.x, 101);
  });

  await t.test("replays what was published before, and gives lists", async (t) => {
    const alice = await client(t, broker.address);
    const publisher = await alice.advertise("series == 'past'");
    for (let number = 1; number <= 50; number += 1) await publisher.publish({ series: "past", number });
    await publisher.flush();
    const deliveries = await alice.subscribe("series == 'past'", { replay: 20 });
    await publisher.publish({ series: "past", number: 51 });
    const numbers = [];
    for await (const batch of deliveries.batches({ maxCount: 8 })) {
      assert.ok(batch.length >= 1 && batch.length <= 8);
      numbers.push(...batch.map(({ attributes, replayed }) => [attributes.number, replayed]));
      if (numbers.length === 21) break;
    }
    const waiting = deliveries.batches({ maxCount: 3, maxS: 20 }).next();
    for (let number = 52; number <= 54; number += 1) await publisher.publish({ series: "past", number }, { confirm: true });
    assert.deepStrictEqual((await waiting).value.map(({ attributes }) => attributes.number), [52, 53, 54]);
    await publisher.publish({ series: "past", number: 55 });
    assert.equal((await deliveries.batches({ maxS: 0.01 }).next()).value.length, 1);
    await assert.rejects(deliveries.next({ signal: AbortSignal.timeout(1) }), { name: "TimeoutError" });
    assert.deepStrictEqual(numbers, Array.from({ length: 21 }, (_, place) => [31 + place, place < 20]));
  });

  await t.test("knows who is interested", async (t) => {
    const alice = await client(t, broker.address);
    const publisher = await alice.advertise("load >= 0");
    assert.equal(publisher.isWanted, false);
    const bob = await connect(broker.address);
    const deliveries = await bob.subscribe("load > 5");
    await publisher.wanted();
    await deliveries.close();
    await publisher.unwanted();

    let runs = 0;
    const producing = publisher.whileWanted(async (signal) => {
      runs += 1;
      for (let load = 0; !signal.aborted; load += 1) await publisher.publish({ load }, { confirm: true });
    });
    for (const expected of [1, 2]) {
      const watching = await bob.subscribe("load > 5");
      await collect(watching, 3);
      assert.equal(runs, expected);
      await watching.close();
      await publisher.unwanted();
    }
    const closed = assert.rejects(producing, ClosedError);
    await publisher.close();
    await closed;
    await bob.close();
  });

  await t.test("is told the filters of subscribers", async (t) => {
    const alice = await client(t, broker.address);
    const publisher = await alice.advertise("depth >= 0");
    const changes = publisher.interestChanges();
    assert.deepStrictEqual((await changes.next()).value, { added: [], removed: [] });
    const bob = await connect(broker.address);
    const deliveries = await bob.subscribe("depth > 5");
    assert.deepStrictEqual((await changes.next()).value, { added: ["depth > 5"], removed: [] });
    assert.deepStrictEqual(publisher.interests, ["depth > 5"]);
    await deliveries.close();
    assert.deepStrictEqual((await changes.next()).value, { added: [], removed: ["depth > 5"] });
    await bob.close();
  });

  await t.test("has everything when a client has been closed in order", async (t) => {
    const alice = await client(t, broker.address);
    const deliveries = await alice.subscribe("exists(last)");
    const bob = await connect(broker.address);
    const publisher = await bob.advertise("exists(last)");
    for (let last = 1; last <= 1000; last += 1) publisher.publish({ last });
    await publisher.close();
    await bob.close();
    assert.equal(bob.state, "closed");
    assert.equal((await collect(deliveries, 1000)).at(-1).attributes.last, 1000);
    await assert.rejects(bob.advertise("True"), ClosedError);
    await deliveries.close();
    assert.deepStrictEqual(await deliveries.next(), { value: undefined, done: true });
  });

  await t.test("is found among several addresses", async (t) => {
    const alice = await client(t, ["127.0.0.1:1", broker.address]);
    assert.equal(alice.broker, "B1");
  });
});

test("a client without a broker says what it tried", LIMIT, async () => {
  await assert.rejects(connect("127.0.0.1:1"), (error) => error instanceof ConnectionFailedError && /127\.0\.0\.1:1: connection refused/.test(error.message));
  await assert.rejects(connect("nowhere"), /nowhere is not HOST:PORT/);
  await assert.rejects(connect("127.0.0.1:1", { nmae: "alice" }), /there is no option nmae/);
  await assert.rejects(connect([]), RangeError);
});

test("nothing is lost and nothing comes twice when a broker with a journal is killed", { timeout: 60_000 }, async (t) => {
  const count = 2000;
  const broker = await Broker.start(t, ...(await journal(t)));
  const states = [];
  const alice = await client(t, broker.address, { name: "alice", onState: ({ state }) => states.push(state) });
  const bob = await client(t, broker.address, { name: "bob" });
  const plain = await bob.subscribe("number > 0");
  const durable = await bob.subscribe("number > 0", { durable: "all", ack: "manual", maxOpen: 100 });
  const publisher = await alice.advertise("number > 0");

  const publishing = (async () => {
    for (let number = 1; number <= count; number += 1) await publisher.publish({ number }, { confirm: number % 100 === 0 });
  })();
  const reading = async (deliveries, done) => {
    const numbers = [];
    for await (const delivery of deliveries) {
      numbers.push(delivery.attributes.number);
      done(delivery, numbers.length);
      if (numbers.length === count) return numbers;
    }
    return numbers;
  };
  let kills = Promise.resolve();
  const killing = (_, seen) => {
    if (seen % 1000 === 500) kills = kills.then(() => broker.kill()).then(() => broker.start());
  };
  const found = await Promise.all([reading(plain, killing), reading(durable, (delivery) => delivery.ack()), publishing]);
  await kills;
  const expected = Array.from({ length: count }, (_, place) => place + 1);
  assert.deepStrictEqual(found[0], expected);
  assert.deepStrictEqual(found[1], expected);
  assert.ok(states.filter((state) => state === "reconnecting").length >= 2);
});

test("a broker that has forgotten a subscription leaves a gap", LIMIT, async (t) => {
  const broker = await Broker.start(t);
  const alice = await client(t, broker.address);
  const deliveries = await alice.subscribe("x > 0");
  const publisher = await alice.advertise("x > 0");
  await publisher.publish({ x: 1 }, { confirm: true });
  await collect(deliveries, 1);
  await broker.kill();
  await broker.start();
  await publisher.publish({ x: 2 }, { confirm: true });
  await assert.rejects(deliveries.next(), (error) => error instanceof GapError && error.count === null && error.reason === "forgotten");
  assert.equal((await deliveries.next()).value.attributes.x, 2);
});
