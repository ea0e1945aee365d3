// The page as one more auditor: it follows each investor's filter at a broker, without the demo between, and compares.

import { connect } from "./concord-pubsub/index.js";
import { Book, follow } from "./investor.js";

const REMEMBERED = 500;

/** One investor, followed from here. */
class Follower {
  constructor(investor) {
    this.book = new Book(investor.rules);
    this.state = "connecting";
    this.agreed = 0;
    this.differed = 0;
    this.profits = [new Map(), new Map()];
    this.client = connect(`ws://${location.hostname}:${investor.port}`, {
      name: `page of ${investor.name}`, retry: true, onState: ({ state }) => { this.state = state; },
    });
    this.client.then((client) => follow(client, investor.wanted, this.book, (delivery) => this.taken(delivery))).catch((error) => {
      this.state = error.message;
    });
  }

  taken({ attributes: { kind, exchange }, sequence }) {
    if (kind === "trade" && this.book.day) this.note(0, `${exchange} ${sequence}`, this.book.profit);
  }

  /** What the investor had after the trade that it was delivered last. */
  heard({ open, tape, profit }) {
    if (open && tape.length) this.note(1, tape[0].id, profit);
  }

  /** Profits are compared after a trade that both were delivered. */
  note(side, trade, profit) {
    const [mine, theirs] = [this.profits[side], this.profits[1 - side]];
    if (mine.has(trade)) return;
    mine.set(trade, profit);
    if (mine.size > REMEMBERED) mine.delete(mine.keys().next().value);
    if (!theirs.has(trade)) return;
    if (Math.abs(theirs.get(trade) - profit) < 0.006) this.agreed += 1;
    else this.differed += 1;
  }

  get words() {
    if (this.state !== "connected") return `this page: ${this.state} …`;
    if (!this.book.day) return "this page waits for the bell";
    if (this.differed) return `this page differs after ${this.differed} of ${this.agreed + this.differed} trades`;
    return `this page keeps the same book: as the investor's after ${this.agreed} trades`;
  }
}

/** The followers of the overlay that the page shows. */
export class Books {
  ordering = "";
  followers = new Map();

  /** Follow what a frame of the demo shows, and compare with it. */
  follow({ ordering, investors }) {
    if (ordering !== this.ordering) {
      for (const { client } of this.followers.values()) client.then((each) => each.close()).catch(() => {});
      this.followers = new Map(investors.filter((each) => each.port).map((each) => [each.name, new Follower(each)]));
      this.ordering = ordering;
    }
    for (const { name, sides } of investors) this.followers.get(name)?.heard(sides[0]);
  }

  said(name) {
    return this.followers.get(name)?.words ?? "";
  }
}
