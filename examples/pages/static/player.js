// The twin of examples/game/player.py: a player in a page, at a broker, with no server between.
//
// It publishes its actions, and computes the state of the game from its deliveries. When it moves on, it subscribes to the
// new sight before it leaves the old one, and publishes a mark that both deliver: the old one counts up to the mark, the
// new one from there. It asks for the state of a new region with a `watch`; the longest watcher answers.

import { GapError, connect, filter } from "./concord-pubsub/index.js";
import { Region, gems, isOnMap, regionAt, sight } from "./world.js";

const ATTEMPTS = 2;
const ANSWER_TIMEOUT_MS = 1500;
const SETTLE_MS = 2000;
const POINTS = { grab: 1, tag: 3 };

const pause = (ms) => new Promise((resolve) => { setTimeout(resolve, ms); });
const token = () => crypto.getRandomValues(new Uint32Array(1))[0].toString(16);

export class Player {
  regions = new Map();
  questions = new Map();
  isOut = true;
  failure = null;
  score = 0;
  #until = "";
  #moved = () => {};
  #open = new Set();

  constructor(client, publisher, [x, y]) {
    [this.client, this.publisher, this.name] = [client, publisher, client.name];
    [this.x, this.y] = [x, y];
  }

  /** Connect a player who is to come in at a cell, and let it follow the game until it leaves. */
  static async join(address, name, cell) {
    const client = await connect(address, { name });
    const player = new Player(client, await client.advertise(filter`player == ${name}`), cell);
    player.play().catch((error) => { player.failure = error; });
    return player;
  }

  async leave() {
    for (const name of this.regions.keys()) await this.say("leave", { region: name });
    await this.client.close();
  }

  /** Follow the regions in sight. After a gap the state is unknown, so the player asks for all anew. */
  async play() {
    while (this.client.state !== "closed") {
      [this.regions, this.questions] = [new Map(), new Map()];
      try {
        await new Promise((_, fail) => { this.lookAround(fail).catch(fail); });
      } catch (error) {
        for (const deliveries of this.#open) await deliveries.close();
        this.#open.clear();
        if (this.client.state !== "closed" && !(error instanceof GapError)) throw error;
        await pause(SETTLE_MS);
      }
    }
  }

  async lookAround(fail) {
    let seen = [];
    let over = Promise.resolve();
    for (;;) {
      const moved = new Promise((resolve) => { this.#moved = resolve; });
      const next = sight(regionAt(this.x, this.y));
      if (String(next) !== String(seen)) {
        const { end } = await this.see(seen, next, over);
        end.catch(fail);
        over = end;
        for (const name of next) if (!seen.includes(name)) this.learn(name).catch(fail);
      }
      seen = next;
      await moved;
    }
  }

  /** Begin to take the deliveries of one subscription, from its own mark to that of the next one; `end` is its end. */
  async see(old, next, over) {
    const mark = token();
    const deliveries = await this.client.subscribe(filter`region in ${next} or into in ${next} or to == ${this.name}`);
    this.#open.add(deliveries);
    const left = old.filter((name) => !next.includes(name));
    for (const name of left) await this.say("leave", { region: name });
    this.#until = mark;
    await this.say("mark", { to: this.name, place: mark });
    await over;
    for (const name of left) {
      this.regions.delete(name);
      this.questions.delete(name);
    }
    return { end: this.follow(deliveries, mark, next) };
  }

  async follow(deliveries, mark, names) {
    let isOn = false;
    for await (const delivery of deliveries) {
      const event = delivery.attributes;
      if (event.place === mark) isOn = true;
      else if (isOn && event.place === this.#until) break;
      else if (isOn) await this.take(delivery, event, names.filter((name) => name === event.region || name === event.into));
    }
    this.#open.delete(deliveries);
    await deliveries.close();
  }

  /** Ask for the state of a region until a watcher answers; if none does, begin it anew. */
  async learn(name) {
    for (let attempt = 0; attempt < ATTEMPTS && !this.regions.has(name); attempt += 1) {
      const question = { place: token(), since: null };
      const answered = new Promise((resolve) => { question.answered = resolve; });
      this.questions.set(name, question);
      await this.say("watch", { region: name, place: question.place, attempt });
      await Promise.race([answered, pause(ANSWER_TIMEOUT_MS)]);
      if (this.questions.get(name) !== question) return;
    }
    if (!this.regions.has(name)) await this.say("begin", { region: name, place: token() });
  }

  async take(delivery, event, names) {
    if (event.kind === "answer") this.takeAnswer(event, JSON.parse(delivery.text));
    for (const name of names) {
      const [region, question] = [this.regions.get(name), this.questions.get(name)];
      if (event.kind === "begin") {
        this.know(new Region({ name, began: event.place, watchers: [event.player] }));
        await this.say("watch", { region: name });
      } else if (region) {
        this.apply(event, region);
        if (event.kind === "watch" && event.attempt >= 0) await this.answer(event, region);
      } else if (question?.place === event.place && event.place !== undefined) {
        question.since = [];
      } else {
        question?.since?.push(event);
      }
    }
  }

  /** Take the state at the position of our question, and apply the events delivered since. */
  takeAnswer(event, state) {
    const question = this.questions.get(state.name);
    if (!question?.since || question.place !== event.place) return;
    const region = new Region(state);
    this.know(region);
    for (const later of question.since) this.apply(later, region);
  }

  know(region) {
    this.regions.set(region.name, region);
    this.questions.get(region.name)?.answered();
    this.questions.delete(region.name);
  }

  apply(event, region) {
    const counts = region.apply(event);
    if (!counts) return;
    if (event.kind === "tag" && event.target === this.name) this.isOut = true;
    if (event.player === this.name) this.score += POINTS[event.kind] ?? 0;
  }

  async answer(event, region) {
    if (region.watchers[0] !== this.name || event.player === this.name) return;
    await this.say("answer", { to: event.player, place: event.place }, JSON.stringify(region.state));
  }

  async say(kind, attributes, payload = "") {
    await this.publisher.publish({ kind, player: this.name, ...attributes }, { payload });
  }

  // --- what a person does ---

  /** Move to a cell, if its region is known; a player who is out comes in. */
  async move(x, y) {
    if (!isOnMap(x, y) || !this.regions.has(regionAt(x, y))) return;
    const [old, next] = [this.isOut ? "" : regionAt(this.x, this.y), regionAt(x, y)];
    [this.x, this.y, this.isOut] = [x, y, false];
    await this.say("move", { region: old || next, ...(old === next ? {} : { into: next }), x, y });
    this.#moved();
    await this.grab();
  }

  /** Take the gems that lie here. */
  async grab() {
    const region = this.regions.get(regionAt(this.x, this.y));
    if (!region) return;
    for (const gem of gems) {
      const [x, y] = region.cell(gem);
      if (x === this.x && y === this.y) await this.say("grab", { region: region.name, gem, turn: region.taken[gem], x, y });
    }
  }

  /** Touch somebody beside us. */
  async tag() {
    const near = ([x, y]) => Math.max(Math.abs(x - this.x), Math.abs(y - this.y)) <= 1;
    const others = [...this.regions.values()].flatMap((region) => [...region.players]).filter(([name, at]) => name !== this.name && near(at));
    if (!others.length || this.isOut) return;
    await this.say("tag", { region: regionAt(this.x, this.y), target: others[0][0], x: this.x, y: this.y });
  }
}
