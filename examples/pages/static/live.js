// What both pages share: the connection to the demo, a meter of frames, and small ways to write into the page.

const tokenOf = (page) => page.querySelector("meta[name=concord-token]").content;

/** The token of a demo that was started again under the same address is in its page, not in this one. */
async function newToken() {
  const answer = await fetch("/", { cache: "no-store" });
  return tokenOf(new DOMParser().parseFromString(await answer.text(), "text/html"));
}

/** Keep a connection to the demo; calls `show` with every frame, and returns what sends a request. */
export function connect(show) {
  let socket;
  let token = tokenOf(document);
  const open = () => {
    socket = new WebSocket(`ws://${location.host}/live?token=${encodeURIComponent(token)}`);
    socket.onmessage = (message) => {
      document.body.dataset.live = "yes";
      show(JSON.parse(message.data));
    };
    socket.onclose = () => {
      document.body.dataset.live = "no";
      setTimeout(again, 500);
    };
  };
  const again = async () => {
    try {
      token = await newToken();
    } catch {
      setTimeout(again, 500);
      return;
    }
    open();
  };
  open();
  return (request) => {
    if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(request));
  };
}

/** A control that was pointed at gives the focus back once it is used: keys are for the page again. Those who
 * reach a control by Tab keep it. */
export function passing(control, area = control) {
  let isPointed = false;
  area.addEventListener("pointerdown", () => { isPointed = true; });
  area.addEventListener("keydown", () => { isPointed = false; });
  control.addEventListener(control.matches("select") ? "change" : "click", () => {
    if (isPointed) control.blur();
  });
  return control;
}

/** Counts painted frames, and how old the newest news was when it was painted. */
export class Meter {
  constructor() {
    this.painted = [];
    this.ages = [];
    this.at = 0;
  }

  news(atMs) {
    this.at = atMs;
  }

  paint() {
    const now = performance.now();
    this.painted.push(now);
    while (this.painted[0] < now - 1000) this.painted.shift();
    if (this.at) {
      this.ages.push(Date.now() - this.at);
      if (this.ages.length > 240) this.ages.shift();
      this.at = 0;
    }
  }

  get framesPerSecond() {
    return this.painted.length;
  }

  get latencyMs() {
    const sorted = [...this.ages].sort((a, b) => a - b);
    return sorted.length ? sorted[Math.floor(sorted.length / 2)] : 0;
  }
}

/** An element with attributes and children; texts are texts, never markup. */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "style") element.style.cssText = value;
    else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children);
  return element;
}

/** Write a text where it has changed: screen readers and layout are left alone otherwise. */
export function write(element, text) {
  const string = String(text);
  if (element.textContent !== string) element.textContent = string;
}

/** The colours of the present scheme, by the names of the style sheet. */
export function colours(...names) {
  const style = getComputedStyle(document.documentElement);
  return Object.fromEntries(names.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
}

/** The switch between orderings: made once for the orderings that run, updated with their counts. */
export class Switch {
  constructor(fieldset, choose, texts) {
    this.fieldset = fieldset;
    this.choose = choose;
    this.texts = texts;
    this.cards = new Map();
    this.wanted = null;
  }

  update(counts, shown) {
    // What was just chosen stays chosen while the demo has not answered: frames made before are on the way.
    if (this.wanted && (this.wanted.ordering === shown || performance.now() > this.wanted.until)) this.wanted = null;
    const chosen = this.wanted?.ordering ?? shown;
    for (const [ordering, figures] of Object.entries(counts)) {
      const card = this.cards.get(ordering) ?? this.add(ordering);
      card.input.checked = ordering === chosen;
      card.card.classList.toggle("broken", figures.disputed > 0);
      write(card.count, figures.disputed.toLocaleString("en"));
      write(card.what, this.texts.what(figures));
      write(card.more, this.texts.more(figures));
    }
  }

  want(ordering) {
    this.wanted = { ordering, until: performance.now() + 1000 };
    this.choose(ordering);
  }

  add(ordering) {
    const input = make("input", { type: "radio", name: "ordering", value: ordering, onchange: () => this.want(ordering) });
    const name = make("span", { class: "name" }, ordering);
    const [count, what, more] = ["count", "what", "more"].map((kind) => make("span", { class: kind }));
    const card = make("label", { class: "choice panel", "data-ordering": ordering }, input, name, count, what, more);
    passing(input, card);
    this.fieldset.append(card);
    const made = { card, input, count, what, more };
    this.cards.set(ordering, made);
    return made;
  }
}

/** The brokers of the overlay, with what kills them. */
export function renderOverlay(panel, list, brokers, send) {
  panel.hidden = brokers.length === 0;
  if (list.children.length !== brokers.length) {
    list.replaceChildren(...brokers.map((broker) => make("li", { "data-broker": broker.name },
      make("span", { class: "lamp" }), make("span", {}),
      passing(make("button", { type: "button", onclick: () => send({ do: "kill", broker: broker.name }) }, "Kill")))));
  }
  brokers.forEach((broker, place) => {
    const [, text, button] = list.children[place].children;
    list.children[place].classList.toggle("down", !broker.up);
    const distance = broker.delayMs ? `${broker.delayMs} ms from the top` : "top of the tree";
    write(text, broker.up ? `${broker.name} · ${distance}` : `${broker.name} is down`);
    button.setAttribute("aria-label", `Kill ${broker.name}; it comes back`);
    button.disabled = !broker.up;
  });
}

/** How fast the page is, and whether it is still told anything. */
export function showMeter(meter) {
  write(document.getElementById("fps"), `${meter.framesPerSecond} frames a second`);
  write(document.getElementById("latency"), `painted ${Math.round(meter.latencyMs)} ms after the demo knew`);
  write(document.getElementById("lost"), document.body.dataset.live === "no" ? "The demo does not answer; still trying." : "");
}
