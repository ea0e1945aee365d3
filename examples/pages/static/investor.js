// An investor in a page: the twin of examples/ticker/investor.py, which decides by its deliveries and by nothing else.
//
// `Book` is a function of the ticks that it takes, in their order. So a page that keeps a book by the same rules, from a
// subscription of its own, comes to the same decisions if it is delivered the same in the same order.

import { Gap } from "./concord-pubsub/index.js";

const CASH = 100_000;

/** One day's triggers and portfolio. `rules` says when to buy and to sell; shares are parts of a price. */
export class Book {
  constructor(rules) {
    this.rules = rules;
    this.open(0);
  }

  /** The bell: a new day, with nothing in hand and nothing remembered. Day 0: closed. */
  open(day) {
    this.day = day;
    this.cash = CASH;
    this.shares = new Map();
    this.paid = new Map();
    this.last = new Map();
    this.high = new Map();
    this.spread = new Map();
    this.decisions = [];
  }

  /** Something is missing: nothing is decided until the next bell. */
  close() {
    this.day = 0;
  }

  /** Since the bell, with what is held at its last price. */
  get profit() {
    let held = 0;
    for (const [symbol, count] of this.shares) held += count * this.last.get(symbol);
    return this.cash - CASH + held;
  }

  /** Take the next tick; decide, or not. */
  take({ kind, symbol, price, bid, ask, day }) {
    if (kind === "bell") this.open(day);
    else if (this.day && kind === "quote") this.spread.set(symbol, (ask - bid) / price);
    else if (this.day) this.trade(symbol, price);
  }

  trade(symbol, price) {
    this.last.set(symbol, price);
    this.high.set(symbol, Math.max(price, this.high.get(symbol) ?? price));
    const count = this.shares.get(symbol) ? this.sold(symbol, price) : this.bought(symbol, price);
    if (count === 0) return;
    this.decisions.push({ symbol, count, price });
    this.cash -= count * price;
    this.shares.set(symbol, (this.shares.get(symbol) ?? 0) + count);
    this.paid.set(symbol, price);
    this.high.set(symbol, price);
  }

  sold(symbol, price) {
    const change = price / this.paid.get(symbol) - 1;
    return -this.rules.stop < change && change < this.rules.gain ? 0 : -this.shares.get(symbol);
  }

  bought(symbol, price) {
    const drop = 1 - price / this.high.get(symbol);
    const limit = this.rules.limits[symbol] ?? 0;
    const isWide = (this.spread.get(symbol) ?? 1) > this.rules.spread;
    return isWide || (drop < this.rules.drop && price > limit) ? 0 : Math.trunc(this.rules.lot / price);
  }
}

/** Keep a book from one subscription, until the client is closed. Its filter has the bell too: one filter, one order. */
export async function follow(client, wanted, book, taken) {
  const deliveries = await client.subscribe(`(${wanted}) or kind == 'bell'`);
  for await (const item of deliveries.withGaps()) {
    if (item instanceof Gap) {
      book.close();
    } else {
      book.take(item.attributes);
      taken(item);
    }
  }
}
