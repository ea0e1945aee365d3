// The client that `connect` returns.

import { checkAddress } from "./addresses.js";
import { Deliveries } from "./deliveries.js";
import { Driver } from "./driver.js";
import { limitsOf } from "./limits.js";
import { ClientMachine } from "./machine.js";
import { Offers } from "./offers.js";
import { inboxOf } from "./options.js";
import { Publisher } from "./publisher.js";
import { Question } from "./session.js";
import { AdvertisementWatch } from "./watch.js";
import { Phase } from "./window.js";

const INCARNATION_BYTES = 8;
const OPTIONS = ["name", "token", "retry", "limits", "onState", "tls", "WebSocket", "random"];

function incarnation() {
  const bytes = crypto.getRandomValues(new Uint8Array(INCARNATION_BYTES));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** A connection to a broker that is made again when it is lost. */
export class Client {
  #driver;

  constructor(driver) {
    this.#driver = driver;
  }

  get name() {
    return this.#driver.session.name;
  }

  /** "connected", "reconnecting" or "closed". */
  get state() {
    return this.#driver.machine.state;
  }

  /** The name of the broker, or nothing while there is no connection. */
  get broker() {
    return this.#driver.session.welcome?.name ?? "";
  }

  /**
   * Become a publisher of what the filter matches; resolves when the whole overlay knows. `resume` is the id of a publisher
   * that an earlier client of this name had at this broker: it goes on behind the last event that the broker took of it.
   */
  async advertise(filter, { resume = "" } = {}) {
    const { session, machine } = this.#driver;
    machine.check();
    const source = session.advertise(String(filter), resume);
    try {
      await this.#driver.until(() => source.phase !== Phase.OPENING);
    } catch (error) {
      session.unadvertise(source);
      throw error;
    }
    if (source.ended !== null) throw source.ended;
    return new Publisher(source, this.#driver);
  }

  /** Subscribe to what the filter matches; resolves when everything that matches from then on will come. */
  async subscribe(filter, options = {}) {
    const { session, machine, nowS } = this.#driver;
    machine.check();
    const inbox = inboxOf(filter, options, session.limits, nowS);
    if (session.roams) inbox.remember();
    session.subscribe(inbox, nowS);
    const deliveries = new Deliveries(inbox, this.#driver);
    try {
      await this.#driver.until(() => inbox.phase !== Phase.OPENING);
    } catch (error) {
      await deliveries.close();
      throw error;
    }
    if (inbox.ended !== null) throw inbox.ended;
    return deliveries;
  }

  /** Watch what publishers, at any broker, have advertised; resolves when all that stands has come. */
  async advertisements(filter = "True") {
    const { session, machine } = this.#driver;
    machine.check();
    const offers = new Offers(String(filter));
    session.discover(offers);
    const watch = new AdvertisementWatch(offers, this.#driver);
    try {
      await this.#driver.until(() => offers.isComplete || offers.ended !== null);
    } catch (error) {
      await watch.close();
      throw error;
    }
    if (offers.ended !== null) throw offers.ended;
    return watch;
  }

  /** End the durable subscription of that name that belongs to this user and client name. */
  async forget(durable) {
    await this.#answer(new Question("Forget", { durable }));
  }

  /** The durable subscriptions of this user and client name. */
  durableSubscriptions() {
    return this.#explained({ about: "durable" });
  }

  /** What waits at the broker, or the way that one publication took. */
  explain(publisher = "", sequence = 0) {
    return this.#explained({ publisher, sequence, about: publisher ? "way" : "waiting" });
  }

  /** The name and the address of each broker of the overlay that can be dialled over TCP. */
  brokers() {
    return this.#explained({ about: "brokers" });
  }

  /** Leave in order: subscriptions are closed, what was published is taken over, and publishers are withdrawn. */
  async close() {
    await this.#driver.left();
  }

  async [Symbol.asyncDispose ?? "asyncDispose"]() {
    await this.close();
  }

  async #explained({ publisher = "", sequence = 0, about }) {
    const { lines } = await this.#answer(new Question("Explain", { publisher, sequence, about }));
    return lines.map((line) => JSON.parse(line));
  }

  async #answer(question) {
    const { session, machine } = this.#driver;
    machine.check();
    session.ask(question);
    try {
      await this.#driver.until(() => question.isAnswered);
    } finally {
      session.dismiss(question);
    }
    if (question.failure !== null) throw question.failure;
    return question;
  }
}

/** Connect to a broker, at the first of these addresses that answers. The client reconnects by itself until it is closed. */
export async function connect(addresses, options = {}) {
  for (const name of Object.keys(options)) {
    if (!OPTIONS.includes(name)) throw new RangeError(`connect: there is no option ${name}; there are ${OPTIONS.join(", ")}`);
  }
  const given = [...new Set([addresses].flat())];
  if (!given.length) throw new RangeError("connect: expected the address of a broker, or of several, got none");
  for (const address of given) checkAddress(address, options);
  const { name = "client", token = "", retry = false, limits, onState = () => {}, random = Math.random } = options;
  const machine = new ClientMachine({ addresses: given, name, incarnation: incarnation(), token, limits: limitsOf(limits), random, retry });
  const driver = new Driver(machine, options, onState);
  driver.start();
  try {
    await driver.until(() => machine.wasConnected);
  } catch {
    throw machine.failure;
  }
  return new Client(driver);
}
