// The whole client without I/O: one deterministic machine, driven by a shell.
//
//   IDLE -> DIALLING -> GREETING -> CONNECTED -> DRAINING -> LEAVING
//             ^  |         |           |
//             |  v         v           v
//             WAITING <----------------+              any of them -> CLOSED
//
// A shell passes events to the machine, with their times, and carries out what it wants:
//
//   machine.start(now)               once, first
//   machine.wants === "dial"         machine.dialling(now), open a transport, then machine.connected(now) or machine.lost(reason, now)
//   bytes were read                  machine.received(bytes, now)
//   the transport has ended          machine.lost(reason, now); null if the broker closed it
//   machine.hasOutput                write machine.takeOutput(), then machine.written(now)
//   machine.wants === "close"        write machine.takeLastWords(), close the transport or stop opening it; then
//                                    machine.lost(null, now)
//   machine.nextDeadline() is over   machine.tick(now)
//   after each of these calls        look at touched, isChanged, changes, wants, hasOutput
//
// Laws:
// * The same inputs give the same outputs: there is no clock but the times that are passed in, and no chance but
//   `random`.
// * `wants` is a state: it stays until the shell has said that it did it.
// * A lost connection is made again until it works, with growing waits. A refusal of the client, or an error in the
//   protocol, is a failure that waiting does not repair, and closes the client.
// * While the broker keeps what is ours, it is the only one that is dialled. Later, and before the first connection,
//   every attempt goes to the next of the addresses.
// * Leaving is in order: everything is taken over and written, the goodbye is the very last thing, and then the broker
//   hangs up; all within `closeTimeoutS`.

import { isWebSocket } from "./addresses.js";
import { BrokerFaultError, ClosedError, ConnectionFailedError, ConnectionLostError } from "./errors.js";
import { CLOSING, Session } from "./session.js";
import { join } from "./wire.js";

const FIRST_S = 0.1;
const LONGEST_S = 5;
const TRIES_WHILE_KEPT = 40;
const KEPT_HEARTBEATS = 4;
const FAREWELL_S = 1;
const GRACE_PART = 0.1;
/** Codes of faults that waiting heals. */
const PASSING = new Set([CLOSING, "restarting", "busy", "replaced", "silent"]);

const IDLE = "idle";
const DIALLING = "dialling";
const GREETING = "greeting";
const CONNECTED = "connected";
const WAITING = "waiting";
const DRAINING = "draining";
const LEAVING = "leaving";
const CLOSED = "closed";

const FOLLOWING = {
  [IDLE]: [DIALLING, CLOSED],
  [DIALLING]: [GREETING, WAITING, CLOSED],
  [GREETING]: [CONNECTED, WAITING, CLOSED],
  [CONNECTED]: [WAITING, DRAINING, CLOSED],
  [WAITING]: [DIALLING, CLOSED],
  [DRAINING]: [LEAVING, CLOSED],
  [LEAVING]: [CLOSED],
  [CLOSED]: [],
};

const GREETED = new Set([CONNECTED, DRAINING, LEAVING]);
const ATTEMPT = new Set([DIALLING, GREETING]);
const LISTENING = new Set([GREETING, CONNECTED, DRAINING]);
const WITHOUT_TRANSPORT = new Set([IDLE, WAITING, CLOSED]);

/** Waits that double from attempt to attempt, and half of each is drawn. */
class Backoff {
  constructor(random) {
    this.random = random;
    this.longestS = FIRST_S;
  }

  nextS(atMostS) {
    const waitS = Math.min(atMostS, this.longestS) * (0.5 + this.random() / 2);
    this.longestS = Math.min(LONGEST_S, this.longestS * 2);
    return waitS;
  }

  reset() {
    this.longestS = FIRST_S;
  }
}

/** One connection's silence: after a heartbeat without a byte the broker gets a ping; after another one it is lost. */
class Silence {
  constructor(heartbeatS) {
    this.heartbeatS = heartbeatS;
    this.deadlineS = Infinity;
    this.looks = 0;
  }

  received(nowS) {
    this.deadlineS = nowS + this.heartbeatS;
    this.looks = 0;
  }

  /** What is due: "ask", "lost" or nothing. Bytes that came while this program was stalled are read before it says so. */
  look(nowS) {
    if (nowS < this.deadlineS) return "";
    this.looks += 1;
    this.deadlineS = nowS + this.heartbeatS * (this.looks === 1 ? 1 : GRACE_PART);
    return ["ask", "", "lost"][Math.min(this.looks, 3) - 1];
  }
}

export class ClientMachine {
  constructor({ addresses, name, incarnation, token, limits, random, retry }) {
    this.addresses = addresses;
    this.address = addresses[0];
    this.session = new Session({ name, incarnation, token, limits, roams: addresses.length > 1 });
    this.limits = limits;
    this.retry = retry;
    this.backoff = new Backoff(random);
    this.life = IDLE;
    this.failure = null;
    /** What to report to the program, in order, and then to remove: {state, address, reason}. */
    this.changes = [];
    this.wasConnected = false;
    this.refusals = [];
    this.hasTransport = false;
    this.isUnwritten = false;
    this.lastWords = new Uint8Array(0);
    this.silence = new Silence(Infinity);
    this.pingCount = 0;
    this.receivedS = -Infinity;
    this.sentS = -Infinity;
    this.stepS = Infinity;
    this.flushS = Infinity;
    this.giveUpS = Infinity;
    this.connectedS = -Infinity;
    this.lostS = -Infinity;
    this.keptS = 0;
  }

  // --- what a shell looks at ---

  get touched() {
    return this.session.touched;
  }

  get isChanged() {
    return this.session.isChanged;
  }

  set isChanged(isChanged) {
    this.session.isChanged = isChanged;
  }

  /** The life in the program's words: "connected", "reconnecting" or "closed". */
  get state() {
    if (GREETED.has(this.life)) return CONNECTED;
    return this.life === CLOSED ? CLOSED : "reconnecting";
  }

  get isClosed() {
    return this.life === CLOSED;
  }

  /** What the shell has to do with its transport: "dial", "close" or nothing. */
  get wants() {
    if (this.hasTransport) return WITHOUT_TRANSPORT.has(this.life) ? "close" : "";
    return this.life === DIALLING ? "dial" : "";
  }

  get hasOutput() {
    return this.life !== CLOSED && this.session.hasOutput;
  }

  /** When to call `tick`, if nothing else happens before. */
  nextDeadline() {
    switch (this.life) {
      case IDLE:
      case CLOSED: return Infinity;
      case WAITING: return Math.min(this.giveUpS, this.hasTransport ? Infinity : this.stepS);
      case DIALLING:
      case GREETING: return Math.min(this.giveUpS, this.stepS);
      case LEAVING: return this.stepS;
      default: return Math.min(this.stepS, this.silence.deadlineS, this.flushS);
    }
  }

  /** Throw the failure of the client, or that the program has left it. */
  check() {
    const { failure } = this;
    if (failure instanceof BrokerFaultError) throw new BrokerFaultError(failure.message, failure.code, { cause: failure });
    if (failure !== null) throw new ConnectionLostError(failure.message, { cause: failure });
    if (this.life === CLOSED) throw new ClosedError(`the client ${this.session.name} was used after it had been closed`);
  }

  // --- events from the shell ---

  start(nowS) {
    this.dial(nowS);
  }

  dialling() {
    this.hasTransport = true;
  }

  /** The transport is open: greet on it, unless it is not wanted any more. */
  connected() {
    if (this.life !== DIALLING) return;
    this.enter(GREETING, this.stepS);
    this.session.connect();
  }

  /** The transport is gone, or could not be opened; null: the broker closed it, or it had to be closed. */
  lost(reason, nowS) {
    this.hasTransport = false;
    this.isChanged = true;
    if (ATTEMPT.has(this.life)) this.attemptFailed(reason ?? "no answer but the end; does a broker listen there?", nowS);
    else if (GREETED.has(this.life)) this.lose(reason ?? "the broker closed the connection", nowS);
  }

  /** Bytes came from the broker, cut anywhere. */
  received(chunk, nowS) {
    if (!LISTENING.has(this.life)) return;
    this.silence.received(nowS);
    this.receivedS = nowS;
    try {
      this.session.receive(chunk, nowS);
      if (this.life === GREETING) this.greet(nowS);
    } catch (error) {
      if (!(error instanceof BrokerFaultError)) throw error;
      this.endBy(error, nowS);
    }
    if (this.life === DRAINING) this.sayGoodbye(nowS);
  }

  /** What to write now; nothing if there is nothing, or if it has to wait for credit. */
  takeOutput() {
    const output = this.session.take();
    if (output.length) this.isUnwritten = true;
    return output;
  }

  /** What to write before the transport is closed. */
  takeLastWords() {
    const words = this.lastWords;
    this.lastWords = new Uint8Array(0);
    return words;
  }

  /** All output that was taken has been handed to the transport. */
  written(nowS) {
    this.isUnwritten = false;
    this.sentS = nowS;
    if (this.life === DRAINING) this.sayGoodbye(nowS);
  }

  /** Carry out what is due at this time. */
  tick(nowS) {
    if (GREETED.has(this.life)) {
      this.tickConnected(nowS);
    } else if (nowS >= this.giveUpS) {
      this.fail(new ConnectionLostError(`no connection to ${this.addresses.join(" or ")} for ${this.limits.reconnectTimeoutS} s; gave up`));
    } else if (nowS >= this.stepS && ATTEMPT.has(this.life)) {
      this.attemptFailed(`no answer within ${this.limits.connectTimeoutS} s`, nowS);
    } else if (nowS >= this.stepS && this.life === WAITING && !this.hasTransport) {
      this.dial(nowS);
    }
  }

  /** Close with an error: the shell's, or of a function of the program. */
  fail(error) {
    if (this.life === CLOSED) return;
    this.failure = error;
    if (this.wasConnected) this.report(CLOSED, error.message);
    this.shut();
  }

  /** Leave when everything is taken over, if there is a connection for it. */
  leave(nowS) {
    if (this.life !== CONNECTED) {
      this.close();
      return;
    }
    this.enter(DRAINING, nowS + this.limits.closeTimeoutS);
    this.session.window.flush();
    this.sayGoodbye(nowS);
  }

  /** Close at once. If nothing is half written, a goodbye is left to `takeOutput`. */
  close() {
    if (this.life === CLOSED) return;
    if ((this.life === CONNECTED || this.life === DRAINING) && !this.isUnwritten) {
      const pending = this.session.take();
      this.session.leave();
      const goodbye = this.session.take();
      this.lastWords = join([pending, goodbye]);
    }
    this.shut();
  }

  // --- attempts ---

  enter(life, untilS) {
    if (!FOLLOWING[this.life].includes(life)) throw new Error(`${this.life} is not followed by ${life}`);
    this.life = life;
    this.isChanged = true;
    this.stepS = untilS;
  }

  dial(nowS) {
    this.enter(DIALLING, nowS + this.limits.connectTimeoutS);
  }

  /** Wait and try again; or fail if there was no connection yet, `retry` is off and all were tried. */
  attemptFailed(why, nowS) {
    const reason = `cannot connect to ${this.address}: ${why}`;
    if (this.wasConnected || this.retry) {
      this.wait(nowS);
      return;
    }
    this.refusals.push(reason);
    if (this.refusals.length < this.addresses.length) this.wait(nowS);
    else this.fail(new ConnectionFailedError(this.refusals.join("; "), this.addresses.join(", ")));
  }

  /** Wait a little: a broker that greets and breaks off at once must not be dialled in a loop. */
  wait(nowS) {
    const isKept = nowS - this.lostS < this.keptS;
    const longestS = isKept ? Math.min(LONGEST_S, Math.max(FIRST_S, this.keptS / TRIES_WHILE_KEPT)) : LONGEST_S;
    this.session.disconnect();
    this.enter(WAITING, nowS + this.backoff.nextS(longestS));
    if (isKept) {
      // What is said is an address of TCP; where a broker listens for WebSocket it listens alone.
      if (!isWebSocket(this.address)) this.address = this.session.home || this.address;
      return;
    }
    const place = this.addresses.indexOf(this.address) + 1;
    this.address = this.addresses[place % this.addresses.length];
  }

  /** Enter CONNECTED if the broker has answered. */
  greet(nowS) {
    const { welcome } = this.session;
    if (welcome === null) return;
    if (welcome.heartbeatMs < 1) throw new BrokerFaultError("the broker's Welcome has a heartbeat of 0 ms; 1 is the least", "malformed");
    this.enter(CONNECTED, Infinity);
    this.silence = new Silence(Number(welcome.heartbeatMs) / 1000);
    this.silence.received(nowS);
    this.flushS = nowS + this.limits.flushIntervalS;
    this.keptS = KEPT_HEARTBEATS * this.silence.heartbeatS;
    this.connectedS = nowS;
    this.wasConnected = true;
    this.report(CONNECTED, "the broker answered");
  }

  // --- connected ---

  tickConnected(nowS) {
    if (nowS >= this.stepS) {
      this.close();
      return;
    }
    if (this.life === LEAVING) return;
    const due = this.silence.look(nowS);
    if (due === "lost") {
      this.lose(`nothing came from the broker for ${2 * this.silence.heartbeatS} s`, nowS);
      return;
    }
    if (due === "ask") {
      this.pingCount += 1;
      this.session.say("Ping", { number: this.pingCount });
    }
    if (nowS < this.flushS) return;
    this.flushS = nowS + this.limits.flushIntervalS;
    this.session.window.flushIfDue();
    this.session.confirmProgress();
    // The broker's ping may be behind many bytes on their way: it needs a sign of life all the same.
    if (this.sentS < Math.min(this.receivedS, nowS - this.silence.heartbeatS / 2)) this.session.say("Pong", { number: 0 });
  }

  /** The broker has closed the connection, or broken the protocol: wait, or fail. */
  endBy(fault, nowS) {
    if (!PASSING.has(fault.code)) {
      this.fail(fault);
    } else if (this.life === GREETING) {
      this.attemptFailed(fault.message, nowS);
    } else {
      if (fault.code === CLOSING) this.keptS = 0;
      this.lose(fault.message, nowS);
    }
  }

  /** Reconnect after a lost connection, or close a client that was leaving. */
  lose(reason, nowS) {
    if (this.life === CONNECTED) {
      this.report("reconnecting", reason);
      this.lostS = nowS;
      this.giveUpS = nowS + this.limits.reconnectTimeoutS;
      if (nowS - this.connectedS > LONGEST_S) this.backoff.reset();
      this.wait(nowS);
      return;
    }
    if (this.life === DRAINING) this.report(CLOSED, reason);
    this.shut();
  }

  /** Say goodbye if everything before it is taken over and written. */
  sayGoodbye(nowS) {
    if (this.isUnwritten || this.session.hasOutput || !this.session.window.isEmpty) return;
    this.enter(LEAVING, Math.min(this.stepS, nowS + FAREWELL_S));
    this.session.leave();
  }

  shut() {
    this.session.disconnect();
    this.enter(CLOSED, Infinity);
  }

  report(state, reason) {
    this.changes.push({ state, address: this.address, reason });
  }
}
