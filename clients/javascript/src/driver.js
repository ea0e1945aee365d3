// Stands between a machine and a transport: moves bytes, keeps time, wakes those who wait, and reports changes.

import { open } from "./transports.js";

const ALARM_MS_MAX = 2 ** 31 - 1;

/** Call a function when what is ready now has had its turn: timers of browsers take milliseconds. */
function nextTurn(call) {
  if (globalThis.setImmediate) {
    setImmediate(call);
    return;
  }
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = () => {
    port1.close();
    call();
  };
  port2.postMessage(null);
}

export class Driver {
  #transport = null;
  #options;
  #onState;
  #waiting = new Set();
  #arrivals = new Map();
  #alarm = undefined;
  #isSending = false;
  #hasSent = false;

  constructor(machine, options, onState) {
    this.machine = machine;
    this.#options = options;
    this.#onState = onState;
  }

  get session() {
    return this.machine.session;
  }

  /** Whether the program has closed the client. */
  get hasLeft() {
    return this.machine.isClosed && this.machine.failure === null;
  }

  get nowS() {
    return performance.now() / 1000;
  }

  // --- for the program's calls ---

  /** Resolves when this is so; rejects with the failure of the client. */
  until(isSo) {
    return new Promise((resolve, reject) => {
      const look = () => {
        if (isSo()) {
          resolve();
          return true;
        }
        try {
          this.machine.check();
        } catch (error) {
          reject(error);
          return true;
        }
        return false;
      };
      if (look()) return;
      this.#waiting.add(look);
      this.sendSoon();
    });
  }

  /** Resolves when something has arrived in this inbox, or never will; rejects when the signal is aborted. */
  arrival(inbox, signal) {
    return new Promise((resolve, reject) => {
      const abort = () => reject(signal.reason);
      signal?.addEventListener("abort", abort, { once: true });
      const arrived = () => {
        signal?.removeEventListener("abort", abort);
        resolve();
      };
      this.#arrivals.set(inbox, [...(this.#arrivals.get(inbox) ?? []), arrived]);
    });
  }

  wake(inbox) {
    const resolves = this.#arrivals.get(inbox) ?? [];
    this.#arrivals.delete(inbox);
    for (const resolve of resolves) resolve();
  }

  /** Write what there is to write: at once if nothing was written in this turn of the loop, or else after it, together. */
  sendSoon() {
    if (this.#isSending || !this.machine.hasOutput) return;
    this.#isSending = true;
    (this.#hasSent ? nextTurn : queueMicrotask)(() => {
      this.#isSending = false;
      this.settle();
    });
    if (this.#hasSent) return;
    this.#hasSent = true;
    nextTurn(() => { this.#hasSent = false; });
  }

  /** Let other work of the program run. */
  pause() {
    return new Promise(nextTurn);
  }

  announceChange() {
    for (const look of [...this.#waiting]) if (look()) this.#waiting.delete(look);
  }

  start() {
    this.machine.start(this.nowS);
    this.settle();
  }

  /** Let go of a subscription: the program is done with what it got last. */
  unsubscribe(inbox) {
    if (inbox.isClosed) return;
    inbox.finish();
    inbox.isClosed = true;
    this.session.unsubscribe(inbox);
    this.wake(inbox);
    this.sendSoon();
  }

  /** Leave in order, as far as the machine has time for it. */
  async left() {
    for (const inbox of this.session.inboxes) this.unsubscribe(inbox);
    this.machine.leave(this.nowS);
    this.settle();
    await new Promise((resolve) => {
      const look = () => {
        if (this.machine.isClosed) resolve();
        return this.machine.isClosed;
      };
      if (!look()) this.#waiting.add(look);
    });
  }

  // --- the machine ---

  /** Carry out what the machine wants, and wake those who wait for what it has got. */
  settle() {
    const { machine } = this;
    do {
      this.#write();
      for (const inbox of machine.touched) this.wake(inbox);
      machine.touched.clear();
      if (machine.isChanged || machine.wants) {
        machine.isChanged = false;
        this.#follow();
      }
    } while (machine.isChanged || machine.wants);
    this.#setAlarm();
  }

  #write() {
    const { machine } = this;
    if (this.#transport === null || machine.isClosed) return;
    for (let output = machine.takeOutput(); output.length; output = machine.takeOutput()) {
      this.#transport.send(output);
      machine.written(this.nowS);
    }
  }

  #follow() {
    const { machine } = this;
    while (machine.changes.length) this.#report(machine.changes.shift());
    if (machine.wants === "close") this.#hangUp();
    if (machine.wants === "dial") this.#dial();
    if (machine.isClosed) for (const inbox of [...this.#arrivals.keys()]) this.wake(inbox);
    this.announceChange();
  }

  #report(change) {
    try {
      this.#onState(change);
    } catch (error) {
      this.machine.fail(error);
    }
  }

  #setAlarm() {
    clearTimeout(this.#alarm);
    const delayMs = 1000 * (this.machine.nextDeadline() - this.nowS);
    if (delayMs === Infinity) return;
    this.#alarm = setTimeout(() => {
      this.machine.tick(this.nowS);
      this.settle();
    }, Math.min(Math.max(delayMs, 0), ALARM_MS_MAX));
  }

  // --- the transport ---

  async #dial() {
    const { machine } = this;
    machine.dialling();
    // A transport that is not wanted any more says nothing to the machine.
    const attempt = { transport: null };
    this.#transport = null;
    this.attempt = attempt;
    const isCurrent = () => this.attempt === attempt;
    const on = {
      opened: () => isCurrent() && this.#input(() => {
        this.#transport = attempt.transport;
        machine.connected(this.nowS);
      }),
      received: (bytes) => isCurrent() && this.#input(() => machine.received(bytes, this.nowS)),
      ended: (reason) => isCurrent() && this.#lost(reason),
    };
    try {
      attempt.transport = await open(machine.address, this.#options, on);
    } catch (error) {
      if (isCurrent()) this.#lost(error.message);
      return;
    }
    if (!isCurrent()) attempt.transport.close(new Uint8Array(0));
  }

  #input(input) {
    try {
      input();
    } catch (error) {
      this.machine.fail(error);
    }
    this.settle();
  }

  #lost(reason) {
    this.attempt = null;
    this.#transport = null;
    this.#input(() => this.machine.lost(reason, this.nowS));
  }

  /** Close the transport, or stop opening it; what the machine has left is written. */
  #hangUp() {
    const transport = this.#transport ?? this.attempt?.transport ?? null;
    const words = this.machine.takeLastWords();
    transport?.close(this.#transport === null ? new Uint8Array(0) : words);
    this.attempt = null;
    this.#transport = null;
    this.machine.lost(null, this.nowS);
  }
}
