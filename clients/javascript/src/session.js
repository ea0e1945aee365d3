// The client's side of the protocol over all its connections: requests and answers, without I/O.
//
// Laws:
// * A request is an intent (a source, an inbox) that outlives connections: it is sent again on each, under a new number.
//   Numbers count from 1 on every connection, over all kinds of requests.
// * After a reconnection no publication leaves before the broker has said what it took from every publisher.
// * A subscription resumes on each connection behind its last arrived position.
// * An answer to a request that has been withdrawn meanwhile is dropped: it was on the way.

import { Decoder } from "./decoder.js";
import {
  BrokerFaultError, ConcordError, PublisherEndedError, RefusedError, SlowSubscriberError, SubscriptionEndedError,
} from "./errors.js";
import { Inbox } from "./inbox.js";
import { Offers } from "./offers.js";
import { Flush, Interest, Phase, SendWindow, Source } from "./window.js";
import { VERSION, WireError, encodeMessage, join } from "./wire.js";

export const CLOSING = "closing";
const SLOW = "slow";
const UNKNOWN = "unknown";
const ANSWER_BYTES_MAX = 256 * 1024 * 1024;

/** Something to ask the broker, answered once; asked again on the next connection. */
export class Question {
  constructor(kind, fields) {
    this.kind = kind;
    this.fields = fields;
    this.lines = [];
    this.sizeBytes = 0;
    this.askedCount = 0;
    this.isAnswered = false;
    this.failure = null;
  }

  /** The frame that asks under this number; what came of an earlier answer does not count. */
  ask(number) {
    this.lines = [];
    this.sizeBytes = 0;
    this.askedCount += 1;
    return encodeMessage(this.kind, { number, ...this.fields });
  }

  put({ lines, more }) {
    this.lines.push(...lines);
    this.sizeBytes += lines.reduce((sum, line) => sum + line.length, 0);
    this.isAnswered = !more;
    if (this.sizeBytes <= ANSWER_BYTES_MAX) return;
    this.isAnswered = true;
    this.failure = new ConcordError(`the answer has more than the ${ANSWER_BYTES_MAX} bytes that are taken`);
  }

  refused({ code, text }) {
    this.isAnswered = true;
    // An earlier request may have ended what is unknown now.
    if (this.kind === "Forget" && this.askedCount > 1 && code === UNKNOWN) return;
    const what = this.kind === "Forget" ? `cannot forget ${this.fields.durable}` : "the broker does not explain that";
    this.failure = new RefusedError(`${what}: ${text}`, code);
  }
}

function reasonOf(request, { kind, code, text }) {
  const isSource = request instanceof Source;
  const what = isSource ? "advertisement" : "subscription";
  const words = `the broker ${kind === "Refused" ? "refused" : "ended"} the ${what} ${request.filter}: ${text}`;
  if (kind === "Refused") return new RefusedError(words, code);
  if (isSource) return new PublisherEndedError(words, code);
  return code === SLOW ? new SlowSubscriberError(words, code) : new SubscriptionEndedError(words, code);
}

export class Session {
  constructor({ name, incarnation, token, limits, roams }) {
    this.name = name;
    this.incarnation = incarnation;
    this.token = token;
    this.limits = limits;
    /** Whether the client may go to another broker: its subscriptions know what they have had. */
    this.roams = roams;
    /** Where the broker is found again, if the address that was dialled is not its own. */
    this.home = "";
    this.window = new SendWindow(limits);
    this.welcome = null;
    /** Inboxes that got something since a shell cleared this. */
    this.touched = new Set();
    /** Whether anything but the contents of inboxes has changed since a shell set it to false. */
    this.isChanged = false;
    this.sources = new Set();
    this.inboxes = new Set();
    this.offers = new Set();
    this.questions = new Set();
    this.requests = new Map();
    this.requestedCount = 0;
    this.awaited = new Set();
    this.controls = [];
    this.decoder = new Decoder();
    this.nowS = 0;
  }

  // --- connections ---

  connect() {
    this.decoder = new Decoder();
    this.requests.clear();
    this.requestedCount = 0;
    this.controls = [];
    this.say("Hello", {
      version: VERSION, role: "client", name: this.name, incarnation: this.incarnation, ordering: "", token: this.token, session: "", received: 0,
    });
  }

  disconnect() {
    this.welcome = null;
    this.controls = [];
    this.awaited.clear();
    this.window.rewind();
    this.isChanged = true;
  }

  say(kind, fields) {
    this.controls.push(encodeMessage(kind, fields));
  }

  get hasOutput() {
    return this.controls.length > 0 || this.window.unsent.length > 0;
  }

  /** The bytes to write now; nothing if there are none, or if they wait for credit. */
  take() {
    const chunks = this.controls;
    this.controls = [];
    if (this.welcome !== null && !this.awaited.size) {
      for (const entry of this.window.take(this.limits.writeBytes)) {
        chunks.push(entry instanceof Flush ? encodeMessage("Flush", { number: this.number(entry) }) : entry.frame);
      }
    }
    return chunks.length ? join(chunks) : new Uint8Array(0);
  }

  /** Take what was read. Throws `BrokerFaultError` if the broker closes, or breaks the protocol. */
  receive(chunk, nowS) {
    this.nowS = nowS;
    try {
      this.decoder.feed(chunk, (message) => this.handle(message));
    } catch (error) {
      if (!(error instanceof WireError)) throw error;
      throw new BrokerFaultError(`the broker sent what it must not send: ${error.message}`, error.code, { cause: error });
    }
  }

  /** The goodbye, as the last message: this client withdraws everything but durable subscriptions. */
  leave() {
    if (this.welcome === null) return;
    this.say("Fault", { code: "left", text: "the client has left" });
    this.welcome = null;
  }

  number(request) {
    this.requestedCount += 1;
    this.requests.set(this.requestedCount, request);
    return this.requestedCount;
  }

  // --- what the program asks for ---

  advertise(filter, resume = "") {
    const source = new Source(filter, resume);
    this.sources.add(source);
    if (this.welcome !== null) this.askSource(source);
    return source;
  }

  /** End a publisher when what it has published is taken over. */
  unadvertise(source) {
    if (source.phase === Phase.LEAVING || source.phase === Phase.ENDED) return;
    if (source.pendingCount) {
      source.phase = Phase.LEAVING;
      this.window.flush();
    } else {
      this.withdraw(source);
    }
  }

  withdraw(source) {
    source.phase = Phase.ENDED;
    this.sources.delete(source);
    if (this.welcome === null) return;
    this.requests.delete(source.number);
    this.awaited.delete(source.number);
    this.say("Unadvertise", { number: source.number });
  }

  /** The filters that overlap a publisher's advertisement; asks for them if nobody has. */
  followInterest(source) {
    if (source.interest === null) {
      source.interest = new Interest(source);
      if (this.welcome !== null) this.askInterest(source.interest);
    }
    return source.interest;
  }

  subscribe(inbox, nowS) {
    this.inboxes.add(inbox);
    if (this.welcome !== null) this.askInbox(inbox, nowS);
  }

  unsubscribe(inbox) {
    if (inbox.phase === Phase.ENDED) return;
    this.inboxes.delete(inbox);
    if (this.welcome !== null) {
      this.confirmPosition(inbox);
      this.requests.delete(inbox.number);
      this.say("Unsubscribe", { number: inbox.number });
    }
    inbox.phase = Phase.ENDED;
  }

  /** The next delivery or gap of a subscription; undefined if none is here. Credit is returned for what was had by that. */
  yieldFrom(inbox, acknowledge) {
    if (inbox.finish()) this.giveCredit(inbox);
    return inbox.take(acknowledge);
  }

  /** Return credit for what was had, when it is due. */
  giveCredit(inbox) {
    const count = inbox.creditDue();
    if (!(count || inbox.owesConfirmation) || !this.reaches(inbox)) return;
    inbox.unconfirmedPosition();
    this.say("Credit", { number: inbox.number, count, taken: inbox.had });
  }

  /** Confirm the positions of durable subscriptions, which outlive this client. */
  confirmProgress() {
    for (const inbox of this.inboxes) this.confirmPosition(inbox);
  }

  confirmPosition(inbox) {
    if (!inbox.durable || !this.reaches(inbox)) return;
    const taken = inbox.unconfirmedPosition();
    if (taken !== null) this.say("Credit", { number: inbox.number, count: 0, taken });
  }

  /** Whether the broker knows this subscription by its present number. */
  reaches(inbox) {
    return this.welcome !== null && inbox.isPlaced && inbox.phase !== Phase.ENDED;
  }

  discover(offers) {
    this.offers.add(offers);
    if (this.welcome !== null) this.controls.push(offers.ask(this.number(offers)));
  }

  undiscover(offers) {
    if (!this.offers.delete(offers) || this.welcome === null) return;
    this.requests.delete(offers.number);
    this.say("Undiscover", { number: offers.number });
  }

  ask(question) {
    this.questions.add(question);
    if (this.welcome !== null) this.controls.push(question.ask(this.number(question)));
  }

  dismiss(question) {
    this.questions.delete(question);
  }

  askSource(source) {
    source.number = this.number(source);
    if (source.id) this.awaited.add(source.number);
    this.say("Advertise", { number: source.number, filter: source.filter, resume: source.id });
  }

  askInterest(interest) {
    this.say("FollowInterest", interest.ask(this.number(interest)));
  }

  askInbox(inbox, nowS) {
    const number = this.number(inbox);
    this.say("Subscribe", {
      number, filter: inbox.filter, ordered: inbox.ordered, credit: inbox.begin(number), boundBytes: inbox.boundBytes, policy: inbox.policy,
      durable: inbox.durable, ageS: inbox.ageS, resume: inbox.id || inbox.resume, after: inbox.resumePosition, replay: inbox.replay(nowS),
    });
  }

  // --- what the broker says ---

  handle(message) {
    const request = this.requests.get(message.number);
    switch (message.kind) {
      case "Delivered": return this.onDelivered(request, message);
      case "Welcome": return this.onWelcome(message);
      case "ReturnAddress": return this.onReturnAddress(message);
      case "Fault": throw new BrokerFaultError(`the broker closed the connection: ${message.text}`, message.code);
      case "Grant":
        this.window.creditBytes += Number(message.sizeBytes);
        return undefined;
      case "Ping": return this.say("Pong", { number: message.number });
      case "Flushed": return this.onFlushed(request, message);
      case "Advertised": return this.onAdvertised(request, message);
      case "Wanted": return this.onWanted(request, message);
      case "InterestListed": return this.onInterest(request, message);
      case "Subscribed": return this.onSubscribed(request);
      case "Placed": return this.onPlaced(request, message);
      case "Gap": return this.onGap(request, message);
      case "Refused":
      case "Ended": return this.onEnd(request, message);
      case "Explained":
      case "Forgotten": return this.onAnswer(request, message);
      case "Discovered": return this.onDiscovered(request, message);
      default: return undefined; // A pong: that anything came is all that counts.
    }
  }

  onWelcome(welcome) {
    this.welcome = welcome;
    this.home = "";
    this.isChanged = true;
    this.window.creditBytes = Number(welcome.creditBytes);
    this.onGreeted();
  }

  /** The address that was dialled may lead to another broker next time. */
  onReturnAddress({ address }) {
    this.home = address;
    this.roams = true;
    for (const inbox of this.inboxes) inbox.remember();
  }

  /** Ask for everything. Subscriptions first: what this client has still to publish may be meant for itself. */
  onGreeted() {
    for (const inbox of this.inboxes) this.askInbox(inbox, this.nowS);
    for (const source of this.sources) this.askSource(source);
    for (const offers of this.offers) this.controls.push(offers.ask(this.number(offers)));
    for (const { interest } of this.sources) if (interest !== null) this.askInterest(interest);
    for (const question of this.questions) this.controls.push(question.ask(this.number(question)));
  }

  onDelivered(inbox, { frames, sizeBytes }) {
    if (!(inbox instanceof Inbox)) return;
    if (!inbox.isPlaced) throw new BrokerFaultError("the broker delivered before it had said from where it counts", "unexpected");
    if (frames.length > inbox.outstandingCount) throw new BrokerFaultError("the broker delivered more than it had credit for", "credit");
    inbox.put(frames, sizeBytes);
    // What was left out gives its credit back at once: nobody takes it.
    if (inbox.seen !== null) this.giveCredit(inbox);
    this.touched.add(inbox);
  }

  onPlaced(inbox, { subscription, position, goesOn }) {
    if (!(inbox instanceof Inbox)) return;
    inbox.placed(subscription, Number(position), goesOn);
    // Deliveries may have been had since it was asked for, or cannot be acknowledged any more.
    this.giveCredit(inbox);
    this.touched.add(inbox);
  }

  onGap(inbox, { count, reason }) {
    if (!(inbox instanceof Inbox)) return;
    inbox.gap(Number(count), reason);
    this.touched.add(inbox);
  }

  onSubscribed(inbox) {
    if (!(inbox instanceof Inbox) || inbox.phase !== Phase.OPENING) return;
    inbox.phase = Phase.OPEN;
    this.isChanged = true;
  }

  onAdvertised(source, { number, publisher, taken, isWanted }) {
    if (!(source instanceof Source)) return;
    if (source.phase === Phase.OPENING) {
      source.name(publisher);
      source.sequence = Number(taken);
      source.phase = Phase.OPEN;
    } else if (publisher !== source.id) {
      this.window.rename(source, publisher);
    } else if (this.awaited.has(number)) {
      this.window.taken(source, Number(taken));
    }
    source.isWanted = isWanted;
    this.awaited.delete(number);
    this.isChanged = true;
    this.withdrawDone();
  }

  onWanted(source, { isWanted }) {
    if (!(source instanceof Source)) return;
    source.isWanted = isWanted;
    this.isChanged = true;
  }

  onInterest(interest, page) {
    if (interest instanceof Interest && interest.put(page)) this.isChanged = true;
  }

  onFlushed(flush, { number }) {
    if (!(flush instanceof Flush)) throw new BrokerFaultError(`the broker answered a flush ${number} nobody asked`, "unexpected");
    this.requests.delete(number);
    this.window.flushed(flush);
    this.isChanged = true;
    this.withdrawDone();
  }

  /** Withdraw the publishers that were to leave when everything is taken over. */
  withdrawDone() {
    for (const source of this.sources) {
      if (source.phase === Phase.LEAVING && !source.pendingCount && !this.awaited.has(source.number)) this.withdraw(source);
    }
  }

  onDiscovered(offers, page) {
    if (!(offers instanceof Offers)) return;
    offers.put(page);
    if (offers.ended !== null) this.undiscover(offers);
    this.isChanged = true;
  }

  onAnswer(question, message) {
    if (!(question instanceof Question)) return;
    if (message.kind === "Forgotten") question.isAnswered = true;
    else question.put(message);
    if (question.isAnswered) this.answered(question, message.number);
  }

  answered(question, number) {
    this.requests.delete(number);
    this.dismiss(question);
    this.isChanged = true;
  }

  /** Take the end or the refusal of a request. A broker that is closing refuses what another run of it will take. */
  onEnd(request, message) {
    if (request === undefined || (message.kind === "Refused" && message.code === CLOSING)) return;
    this.requests.delete(message.number);
    if (request instanceof Question) {
      request.refused(message);
      this.answered(request, message.number);
    } else if (request instanceof Offers) {
      request.refused(message);
      this.offers.delete(request);
      this.isChanged = true;
    } else if (request instanceof Interest) {
      request.failure = new RefusedError(`the broker does not list who is interested: ${message.text}`, message.code);
      this.isChanged = true;
    } else if (request instanceof Source || request instanceof Inbox) {
      this.end(request, message);
    }
  }

  end(request, message) {
    request.ended = reasonOf(request, message);
    request.phase = Phase.ENDED;
    this.isChanged = true;
    if (request instanceof Inbox) {
      this.inboxes.delete(request);
      this.touched.add(request);
    } else {
      this.sources.delete(request);
      this.awaited.delete(message.number);
      this.window.forget(request);
    }
  }
}
