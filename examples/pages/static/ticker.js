// The ticker's page: shows what the demo says that investors and auditors were delivered, and keeps books of its own.

import { Books } from "/static/books.js";
import { Meter, Switch, colours, connect, make, renderOverlay, showMeter, write } from "/static/live.js";

const by = (id) => document.getElementById(id);
const money = new Intl.NumberFormat("en", { minimumFractionDigits: 2, maximumFractionDigits: 2, signDisplay: "exceptZero" });
const plain = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const meter = new Meter();
const books = [];
const own = new Books();
let frame = null;

const show = (ordering) => send({ do: "show", ordering });
const choice = new Switch(by("switch"), show, {
  what: (n) => `${n.disputed === 1 ? "decision differs" : "decisions differ"}, on ${plain.format(n.shared)} trades seen by both`,
  more: (n) => `${plain.format(n.displaced)} trades out of place · profits differ by ${plain.format(n.money)} €`,
});

const send = connect((news) => {
  frame = news;
  meter.news(news.at);
  render();
});

function addBook() {
  const [name, wanted, difference, note] = ["h2", "code", "span", "span"].map((tag) => make(tag));
  const canvas = make("canvas", { role: "img" });
  const sides = ["Investor", "Auditor"].map((title) => {
    const [city, profit] = [make("span"), make("b", { class: "figure" })];
    const tape = make("tbody");
    const root = make("div", { class: "side" },
      make("div", { class: "who" }, make("span", {}, title), profit), make("div", { class: "soft small" }, city),
      make("table", {}, make("caption", { class: "hidden" }, `${title}'s tape, newest first`), tape));
    return { root, city, profit, tape };
  });
  const page = make("p", { class: "soft small", role: "status" });
  const root = make("article", { class: "book panel" },
    make("header", {}, make("div", {}, name, wanted), make("div", { class: "gap" }, difference, note)), canvas,
    make("div", { class: "sides" }, ...sides.map((side) => side.root)), page);
  by("books").append(root);
  books.push({ root, page, name, wanted, difference, note, canvas, sides });
}

function render() {
  while (books.length < frame.investors.length) addBook();
  choice.update(frame.counts, frame.ordering);
  own.follow(frame);
  frame.investors.forEach((investor, place) => renderBook(books[place], investor));
  renderFindings();
  renderOverlay(by("brokers"), by("overlay"), frame.brokers, send);
  write(by("day"), `Day ${frame.day}`);
}

function renderBook(book, investor) {
  book.seen = investor;
  book.root.dataset.investor = investor.name;
  const isSame = Math.abs(investor.difference) < 0.005;
  book.root.classList.toggle("differs", !isSame);
  write(book.name, investor.name);
  write(book.wanted, investor.wanted);
  write(book.difference, isSame ? "same" : `${money.format(investor.difference)} €`);
  write(book.note, isSame ? "profit as audited" : "against the audit");
  book.canvas.setAttribute("aria-label", `Prices of ${investor.charted} as the investor and its auditor saw them`);
  write(book.page, own.said(investor.name));
  investor.sides.forEach((side, place) => renderSide(book.sides[place], side));
}

function renderSide(view, side) {
  const state = side.connected ? (side.open ? `${side.latencyMs} ms` : "waits for the bell") : "reconnecting …";
  write(view.city, `${side.city} · ${state}`);
  write(view.profit, `${money.format(side.profit)} €`);
  const key = JSON.stringify(side.tape);
  if (view.key === key) return;
  view.key = key;
  view.tape.replaceChildren(...side.tape.map((line) => make("tr", { class: line.displaced ? "displaced" : "", "data-exchange": line.exchange },
    make("td", { class: "soft" }, line.exchange), make("td", {}, line.symbol), make("td", {}, line.price), make("td", { class: "soft" }, String(line.size)))));
}

let shownFindings = "";
function renderFindings() {
  const newest = JSON.stringify(frame.findings);
  if (newest === shownFindings) return;
  shownFindings = newest;
  by("calm").hidden = frame.findings.length > 0;
  by("findings").replaceChildren(...frame.findings.map((each) => make("li", { class: each.disputed ? "disputed" : "" },
    make("span", {}, make("b", {}, each.investor), ` on ${each.trade}`),
    make("span", { class: each.disputed ? "verdict no" : "verdict yes" }, each.disputed ? "they differ" : "as audited"),
    make("span", { class: "decided" }, each.decided[0] ?? "does nothing"),
    make("span", { class: "decided" }, each.decided[1] ?? "does nothing"))));
}

function draw() {
  if (frame) {
    const palette = colours("agree", "differ", "soft", "line", "gem");
    for (const book of books) if (book.seen) drawChart(book, palette);
    meter.paint();
  }
  requestAnimationFrame(draw);
}

function drawChart({ canvas, seen }, palette) {
  const ratio = window.devicePixelRatio || 1;
  const [wide, high] = [canvas.clientWidth, canvas.clientHeight];
  if (canvas.width !== Math.round(wide * ratio) || canvas.height !== Math.round(high * ratio)) {
    canvas.width = Math.round(wide * ratio);
    canvas.height = Math.round(high * ratio);
  }
  const pen = canvas.getContext("2d");
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, wide, high);
  const all = seen.sides.flatMap((side) => side.chart);
  if (seen.sides.some((side) => side.chart.length < 2)) return;
  const [low, top] = [Math.min(...all), Math.max(...all)];
  const y = (price) => 20 + (high - 28) * (1 - (price - low) / (top - low || 1));
  const curve = (prices, dash, colour, wide2) => {
    pen.setLineDash(dash);
    pen.strokeStyle = colour;
    pen.lineWidth = wide2;
    pen.lineJoin = "round";
    pen.beginPath();
    prices.forEach((price, place) => pen.lineTo((place / Math.max(prices.length - 1, 1)) * (wide - 8) + 4, y(price)));
    pen.stroke();
  };
  curve(seen.sides[0].chart, [], palette.agree, 1.8);
  curve(seen.sides[1].chart, [4, 3], palette.gem, 1.6);
  pen.setLineDash([]);
  pen.fillStyle = palette.soft;
  pen.font = "12px sans-serif";
  pen.fillText(`${seen.charted}  ${(seen.sides[0].chart.at(-1) ?? 0).toFixed(2)}`, 4, 12);
}

addEventListener("keydown", (event) => {
  const ordering = frame && Object.keys(frame.counts)[event.key - 1];
  if (ordering && !event.ctrlKey && !event.metaKey && !event.altKey) choice.want(ordering);
});

setInterval(() => showMeter(meter), 1000);
requestAnimationFrame(draw);
window.concord = { get frame() { return frame; }, meter, own };
