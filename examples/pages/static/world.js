// The twin of examples/game/world.py: the map, and the state of a region, which follows from its events alone.

const COLUMNS = "abcde";
const ROWS = "1234";
const SIDE = 4;
const GEMS = 2;
const [WIDTH, HEIGHT] = [COLUMNS.length * SIDE, ROWS.length * SIDE];

const CRC = Uint32Array.from({ length: 256 }, (_, byte) => {
  let sum = byte;
  for (let bit = 0; bit < 8; bit += 1) sum = sum & 1 ? (sum >>> 1) ^ 0xedb88320 : sum >>> 1;
  return sum;
});

function crc32(text) {
  const sum = new TextEncoder().encode(text).reduce((each, byte) => CRC[(each ^ byte) & 255] ^ (each >>> 8), 0xffffffff);
  return (sum ^ 0xffffffff) >>> 0;
}

export const isOnMap = (x, y) => x >= 0 && x < WIDTH && y >= 0 && y < HEIGHT;
export const gems = [...Array(GEMS).keys()];

/** The region of a cell, such as "b3". */
export function regionAt(x, y) {
  return COLUMNS[Math.floor(x / SIDE)] + ROWS[Math.floor(y / SIDE)];
}

/** What is seen from a region: itself and its neighbours. */
export function sight(region) {
  const near = (names, name) => [...names].filter((each) => Math.abs(names.indexOf(each) - names.indexOf(name)) <= 1);
  return near(COLUMNS, region[0]).flatMap((column) => near(ROWS, region[1]).map((row) => column + row));
}

/** The state of one region at one position in the order of its events. */
export class Region {
  constructor({ name, began, taken = Array(GEMS).fill(0), players = {}, watchers = [] }) {
    this.name = name;
    this.began = began;
    this.taken = taken;
    this.players = new Map(Object.entries(players));
    this.watchers = watchers;
  }

  /** As an answer carries it. */
  get state() {
    return { name: this.name, began: this.began, taken: this.taken, players: Object.fromEntries(this.players), watchers: this.watchers };
  }

  /** The cell of a gem. When it is taken, the next one lies elsewhere in the region. */
  cell(gem) {
    const spot = crc32(`${this.began}${this.name}${gem}${this.taken[gem]}`) % (SIDE * SIDE);
    return [COLUMNS.indexOf(this.name[0]) * SIDE + (spot % SIDE), ROWS.indexOf(this.name[1]) * SIDE + Math.floor(spot / SIDE)];
  }

  /** Apply the next event; return whether it counts. */
  apply({ kind, player, into = "", target = "", x, y, gem, turn, attempt = -1 }) {
    const counts = this.move({ kind, player, into, x, y }) && this.act({ kind, player, target, gem, turn });
    if (kind === "watch" || kind === "leave") {
      const others = this.watchers.slice(attempt > 0 ? 1 : 0).filter((name) => name !== player);
      this.watchers = kind === "watch" ? [...others, player] : others;
    }
    return counts;
  }

  move({ kind, player, into, x, y }) {
    if (kind === "move" && (into === this.name || (this.players.has(player) && !into))) this.players.set(player, [x, y]);
    else if (kind === "move" || kind === "leave") this.players.delete(player);
    return true;
  }

  act({ kind, player, target, gem, turn }) {
    const [at, other] = [this.players.get(player), this.players.get(target)];
    if (kind === "grab") {
      if (!at || turn < this.taken[gem]) return false;
      this.taken[gem] = turn + 1;
    } else if (kind === "tag") {
      if (!at || !other || Math.max(Math.abs(at[0] - other[0]), Math.abs(at[1] - other[1])) > 1) return false;
      this.players.delete(target);
    }
    return true;
  }
}
