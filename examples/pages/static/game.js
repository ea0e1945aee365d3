// The game's page: draws what the demo says that players know, and sends what the person does. It decides nothing, but
// as a player of its own, which has joined from here.

import { Player } from "/static/player.js";
import { gems } from "/static/world.js";
import { Meter, Switch, colours, connect, make, passing, renderOverlay, showMeter, write } from "/static/live.js";

const NAMED = {
  Ada: "#d0435c", Ben: "#2b6cd4", Cleo: "#12805f", Dan: "#a8690c",
  Eva: "#7a4fd6", Finn: "#0a7f9c", Gus: "#b8368a", Hana: "#616b7c",
};
const colourOf = (name) => NAMED[name] ?? `hsl(${(Number(name.slice(1)) * 47) % 360} 52% 42%)`;
const by = (id) => document.getElementById(id);
const GLIDE_MS = 70;
const REPEAT_MS = 120;
const STEPS = {
  ArrowUp: [0, -1], ArrowDown: [0, 1], ArrowLeft: [-1, 0], ArrowRight: [1, 0],
  w: [0, -1], s: [0, 1], a: [-1, 0], d: [1, 0],
};

let frame = null;
let own = null;
let palette = {};
const views = [];
const meter = new Meter();

const choice = new Switch(by("switch"), (ordering) => {
  views.forEach((view) => view.places.clear());
  if (own) join();
  send({ do: "show", ordering });
}, {
  what: (n) => `${n.disputed === 1 ? "disagreement" : "disagreements"} in ${n.shared.toLocaleString("en")} shared actions`,
  more: (n) => `${n.perMinute.toLocaleString("en")} a minute · ${n.twice.toLocaleString("en")} gems held twice`,
});

const send = connect((news) => {
  frame = news;
  meter.news(news.at);
  render();
});

// --- views ---

function addView(place) {
  const select = passing(make("select", { "aria-label": `Player in view ${place + 1}`, onchange: () => chooseViews() }));
  const token = make("span", { class: "token", "aria-hidden": "true" });
  const city = make("div");
  const score = make("span");
  const canvas = make("canvas", { role: "img", tabindex: "0", onclick: (event) => tap(place, event) });
  const note = make("span");
  const button = passing(make("button", { type: "button", onclick: () => toggle(place) }));
  const root = make("article", { class: "view panel" },
    make("header", {}, token, make("div", { class: "who" }, select, city), make("div", { class: "score" }, score, make("small", {}, "points"))),
    make("div", { class: "board" }, canvas, make("div", { class: "veil" }, "reconnecting …")),
    make("footer", {}, note, button));
  by("views").append(root);
  views.push({ root, select, token, city, score, canvas, note, button, places: new Map(), known: null });
}

function chooseViews() {
  send({ do: "views", names: views.map((view) => view.select.value) });
}

// --- a player of this page ---

/** Join the game beside the first player in view, at the broker that is farthest from the top; or leave it. */
async function join() {
  const left = own;
  own = null;
  if (left) {
    left.view.root.remove();
    write(by("join"), "Join from this page");
    await left.player.leave();
    return;
  }
  by("join").disabled = true;
  const port = Object.values(frame.ports).at(-1);
  const name = `Y${10 + Math.floor(Math.random() * 90)}`;
  const player = await Player.join(`ws://${location.hostname}:${port}`, name, placeOf(frame.views[0], frame.views[0].name) ?? [0, 0]);
  own = { player, view: ownView(player.name) };
  by("join").disabled = false;
  write(by("join"), "Leave");
}

function ownView(name) {
  const [score, note] = [make("span"), make("span")];
  const canvas = make("canvas", { role: "img", "aria-label": "What the player of this page sees" });
  const root = make("article", { class: "view panel you", "data-player": name, style: `--colour:${colourOf(name)}` },
    make("header", {}, make("span", { class: "token", "aria-hidden": "true" }, name.slice(1)), make("div", { class: "who" }, name, make("div", {}, "this page")),
      make("div", { class: "score" }, score, make("small", {}, "points"))),
    make("div", { class: "board" }, canvas), make("footer", {}, note));
  by("views").append(root);
  return { root, canvas, score, note, places: new Map() };
}

/** What the own player knows, as the demo says it of others; and where it has been tagged, let it come in again. */
function renderOwn() {
  const { player, view } = own;
  view.seen = {
    name: player.name,
    marks: [],
    regions: Object.fromEntries([...player.regions].sort().map(([name, region]) =>
      [name, [gems.map((gem) => region.cell(gem)), [...region.players].sort().map(([who, at]) => [who, ...at])]])),
  };
  write(view.score, player.score);
  write(view.note, player.failure?.message ?? (player.isOut ? "A moment …" : "You play"));
  if (player.isOut) player.move(player.x, player.y);
}

function toggle(place) {
  const name = frame.views[place].name;
  send(frame.you === name ? { do: "release" } : { do: "take", name });
}

function tap(place, event) {
  const seen = frame.views[place];
  if (frame.you !== seen.name) return toggle(place);
  const at = placeOf(seen, seen.name);
  if (!at) return undefined;
  const box = views[place].canvas.getBoundingClientRect();
  const dx = (event.clientX - box.left) / box.width * frame.map.width - at[0] - 0.5;
  const dy = (event.clientY - box.top) / box.height * frame.map.height - at[1] - 0.5;
  return send({ do: "step", dx: Math.abs(dx) > 0.5 ? Math.sign(dx) : 0, dy: Math.abs(dy) > 0.5 ? Math.sign(dy) : 0 });
}

function placeOf(seen, name) {
  for (const [, players] of Object.values(seen.regions)) {
    for (const [who, x, y] of players) if (who === name) return [x, y];
  }
  return null;
}

function render() {
  while (views.length < frame.views.length) addView(views.length);
  choice.update(frame.counts, frame.ordering);
  frame.views.forEach((seen, place) => renderView(views[place], seen));
  renderCalls();
  renderStandings();
  renderOverlay(by("brokers"), by("overlay"), frame.brokers, send);
  by("join").hidden = Object.keys(frame.ports).length === 0;
  by("pad").classList.toggle("on", frame.you !== "" || own !== null);
  if (own) renderOwn();
}

function renderView(view, seen) {
  const names = Object.keys(frame.board);
  if (view.select.options.length !== names.length) view.select.replaceChildren(...names.map((name) => new Option(name, name)));
  if (view.select.value !== seen.name && document.activeElement !== view.select) view.select.value = seen.name;
  const isYou = frame.you === seen.name;
  view.root.dataset.player = seen.name;
  view.root.style.setProperty("--colour", colourOf(seen.name));
  view.root.classList.toggle("you", isYou);
  view.root.classList.toggle("away", !seen.connected);
  view.root.classList.toggle("differs", seen.marks.length > 0);
  write(view.token, seen.name[0]);
  write(view.city, `${seen.city} · ${seen.latencyMs} ms`);
  write(view.score, seen.score);
  write(view.button, isYou ? "Let the bot play" : `Play ${seen.name}`);
  view.button.disabled = !isYou && seen.person !== "";
  write(view.note, isYou ? (seen.out ? "You were tagged; a moment …" : "You play") : seen.person ? "Somebody plays" : seen.out ? "Was tagged" : "A bot plays");
  const seenCount = Object.keys(seen.regions).length;
  view.canvas.setAttribute("aria-label", `${seen.name} sees ${seenCount} of ${frame.map.columns.length * frame.map.rows.length} regions; ${seen.marks.length} places where players differ`);
  view.seen = seen;
}

const dots = (names) => names.map((name) => make("span", { class: "name" }, make("span", { class: "dot", style: `--colour:${colourOf(name)}` }), name));
const side = (kind, text, names) => (names.length ? [make("span", {}, make("span", { class: kind }, text), ...dots(names))] : []);

let shownCalls = "";
function renderCalls() {
  const newest = JSON.stringify(frame.calls);
  if (newest === shownCalls) return;
  shownCalls = newest;
  by("calm").hidden = frame.calls.length > 0;
  by("calls").replaceChildren(...frame.calls.map((call) => make("li", { class: call.disputed ? "disputed" : "" },
    make("span", {}, make("b", {}, call.who), call.kind === "grab" ? ` grabbed a gem in ${call.region}` : ` tagged ${call.target} in ${call.region}`),
    make("span", { class: call.disputed ? "verdict no" : "verdict yes" }, call.disputed ? "they differ" : "all agree"),
    make("span", { class: "sides" }, ...side("", "counted for", call.yes), ...side("", "too late for", call.no)))));
}

let shownBoard = "";
function renderStandings() {
  const board = JSON.stringify(frame.board);
  if (board === shownBoard) return;
  shownBoard = board;
  const sorted = Object.entries(frame.board).sort((one, other) => other[1] - one[1]).slice(0, 8);
  const most = Math.max(1, ...sorted.map(([, score]) => score));
  by("standings").replaceChildren(...sorted.map(([name, score]) => make("li", { "data-player": name, style: `--colour:${colourOf(name)}` },
    make("span", {}, name), make("span", { class: "bar", style: `width:${(100 * score) / most}%` }), make("span", { class: "figure" }, String(score)))));
  const twice = frame.counts[frame.ordering].twice;
  write(by("twice"), twice ? `${twice} gems are counted by two players at once.` : "No gem is counted twice.");
}

// --- drawing ---

function draw(now) {
  const since = now - (draw.last ?? now);
  draw.last = now;
  if (frame) {
    palette = colours("board", "board-two", "grid", "fog", "fog-line", "gem", "gem-light", "ink", "panel", "differ", "agree", "line");
    for (const view of [...views, ...(own ? [own.view] : [])]) if (view.seen) drawView(view, since);
    meter.paint();
  }
  requestAnimationFrame(draw);
}

function drawView(view, since) {
  const { canvas, seen } = view;
  const { width, height } = frame.map;
  const ratio = window.devicePixelRatio || 1;
  const wide = Math.round(canvas.clientWidth * ratio);
  const high = Math.round((wide * height) / width);
  if (canvas.width !== wide || canvas.height !== high) [canvas.width, canvas.height] = [wide, high];
  const pen = canvas.getContext("2d");
  pen.setTransform(wide / width, 0, 0, wide / width, 0, 0);
  drawGround(pen, seen);
  for (const [gems] of Object.values(seen.regions)) for (const [x, y] of gems) drawGem(pen, x + 0.5, y + 0.5);
  const still = new Set();
  for (const [, players] of Object.values(seen.regions)) for (const [name, x, y] of players) {
    still.add(name);
    const at = view.places.get(name) ?? { x, y };
    const far = Math.abs(at.x - x) + Math.abs(at.y - y) > 3;
    const part = far ? 1 : 1 - Math.exp(-since / GLIDE_MS);
    at.x += (x - at.x) * part;
    at.y += (y - at.y) * part;
    view.places.set(name, at);
    drawPlayer(pen, name, at.x + 0.5, at.y + 0.5, name === seen.name);
  }
  for (const name of view.places.keys()) if (!still.has(name)) view.places.delete(name);
  for (const mark of seen.marks) drawMark(pen, mark);
}

function drawGround(pen, seen) {
  const { columns, rows, side, width, height } = frame.map;
  pen.fillStyle = palette.fog;
  pen.fillRect(0, 0, width, height);
  pen.strokeStyle = palette["fog-line"];
  pen.lineWidth = 0.08;
  pen.beginPath();
  for (let x = -height; x < width; x += 0.7) {
    pen.moveTo(x, height);
    pen.lineTo(x + height, 0);
  }
  pen.stroke();
  for (const name of Object.keys(seen.regions)) {
    const [column, row] = [columns.indexOf(name[0]), rows.indexOf(name[1])];
    pen.fillStyle = (column + row) % 2 ? palette.board : palette["board-two"];
    pen.fillRect(column * side, row * side, side, side);
    pen.fillStyle = palette.grid;
    for (let x = 0; x < side; x += 1) for (let y = 0; y < side; y += 1) {
      pen.fillRect(column * side + x + 0.46, row * side + y + 0.46, 0.08, 0.08);
    }
  }
}

function drawGem(pen, x, y) {
  const outline = (points) => {
    pen.beginPath();
    points.forEach(([dx, dy]) => pen.lineTo(x + dx, y + dy));
    pen.closePath();
  };
  pen.fillStyle = palette.gem;
  outline([[0, -0.36], [0.3, 0], [0, 0.36], [-0.3, 0]]);
  pen.fill();
  pen.fillStyle = palette["gem-light"];
  outline([[0, -0.36], [0.3, 0], [0, 0], [-0.12, 0]]);
  pen.fill();
}

function drawPlayer(pen, name, x, y, isOwn) {
  pen.beginPath();
  pen.arc(x, y, isOwn ? 0.62 : 0.5, 0, 2 * Math.PI);
  pen.fillStyle = isOwn ? palette.ink : palette.panel;
  pen.fill();
  pen.beginPath();
  pen.arc(x, y, isOwn ? 0.52 : 0.44, 0, 2 * Math.PI);
  pen.fillStyle = colourOf(name);
  pen.fill();
  pen.fillStyle = "#fff";
  pen.font = `700 ${name.length > 1 && !NAMED[name] ? 0.42 : 0.6}px "Liberation Sans", Arial, sans-serif`;
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  pen.fillText(NAMED[name] ? name[0] : name.slice(1), x, y + 0.03);
}

function drawMark(pen, mark) {
  const [x, y] = [mark.x + 0.5, mark.y + 0.5];
  pen.save();
  pen.strokeStyle = palette.differ;
  pen.lineWidth = 0.16;
  pen.setLineDash([0.32, 0.2]);
  pen.beginPath();
  pen.arc(x, y, 0.95, 0, 2 * Math.PI);
  pen.stroke();
  pen.setLineDash([]);
  pen.beginPath();
  pen.arc(x + 0.72, y - 0.72, 0.42, 0, 2 * Math.PI);
  pen.fillStyle = mark.counts ? palette.agree : palette.differ;
  pen.fill();
  pen.strokeStyle = palette.panel;
  pen.lineWidth = 0.13;
  pen.lineCap = "round";
  pen.beginPath();
  if (mark.counts) {
    pen.moveTo(x + 0.53, y - 0.72);
    pen.lineTo(x + 0.67, y - 0.57);
    pen.lineTo(x + 0.92, y - 0.88);
  } else {
    pen.moveTo(x + 0.57, y - 0.87);
    pen.lineTo(x + 0.87, y - 0.57);
    pen.moveTo(x + 0.87, y - 0.87);
    pen.lineTo(x + 0.57, y - 0.57);
  }
  pen.stroke();
  pen.restore();
}

// --- what the person does ---

let steppedAt = 0;
function step(dx, dy, isRepeated = false) {
  if (isRepeated && performance.now() - steppedAt < REPEAT_MS) return;
  steppedAt = performance.now();
  if (own) own.player.move(own.player.x + dx, own.player.y + dy);
  else send({ do: "step", dx, dy });
}

function tag() {
  if (own) own.player.tag();
  else send({ do: "tag" });
}

// While a person plays, the keys of the game are the game's, whatever has the focus: a button does not take the
// space bar, and a switch does not take the arrows. Enter uses a button, and Escape gives the keys back.
const isGameKey = (event) => !event.ctrlKey && !event.metaKey && !event.altKey && (frame?.you || own)
  && (STEPS[event.key] || event.key === " ");

addEventListener("keydown", (event) => {
  if (!frame || event.ctrlKey || event.metaKey || event.altKey) return;
  if (/^[1-4]$/.test(event.key) && frame.views[event.key - 1]) send({ do: "take", name: frame.views[event.key - 1].name });
  else if (event.key === "Escape") send({ do: "release" });
  else if (isGameKey(event) && STEPS[event.key]) step(...STEPS[event.key], event.repeat);
  else if (isGameKey(event)) { if (!event.repeat) tag(); }
  else if (event.key === "Enter" && event.target.matches("canvas")) toggle(views.findIndex((view) => view.canvas === event.target));
  else return;
  event.preventDefault();
});

// Some browsers let the space bar use a button when it is let go.
addEventListener("keyup", (event) => {
  if (isGameKey(event)) event.preventDefault();
});

passing(by("join")).addEventListener("click", join);
for (const button of by("pad").querySelectorAll("button")) passing(button);
by("pad").addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (button?.dataset.step) step(...button.dataset.step.split(",").map(Number));
  else if (button) tag();
});

setInterval(() => showMeter(meter), 1000);
requestAnimationFrame(draw);
window.concord = { get frame() { return frame; }, get own() { return own?.player; }, meter };
