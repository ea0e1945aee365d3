// A real broker in a process of its own, that can be killed and started again at its addresses.
//
// CONCORD_COMMAND is what runs `concord`, with spaces between its words; `concord` unless it is set.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";

const COMMAND = (process.env.CONCORD_COMMAND ?? "concord").split(" ");
const LISTENING = "listening on ";

export class Broker {
  constructor(options) {
    this.options = options;
    this.address = "127.0.0.1:0";
  }

  /** Start a broker; it ends with the test. */
  static async start(test, ...options) {
    const broker = new Broker(options);
    await broker.start();
    test.after(() => broker.kill());
    return broker;
  }

  async start() {
    const [program, ...words] = COMMAND;
    const listen = ["--listen", this.address];
    this.process = spawn(program, [...words, "broker", "--name", "B1", ...listen, ...this.options], { stdio: ["pipe", "pipe", "inherit"] });
    const lines = createInterface({ input: this.process.stdout })[Symbol.asyncIterator]();
    const { value } = await lines.next();
    if (!value?.startsWith(LISTENING)) throw new Error(`the broker printed ${value} instead of its address`);
    this.address = value.slice(LISTENING.length);
  }

  /** End it as a power failure does. */
  async kill() {
    if (this.process.exitCode !== null || this.process.signalCode !== null) return;
    const ended = once(this.process, "exit");
    this.process.kill("SIGKILL");
    await ended;
  }
}
