// Every limit of a client, with its default. The reasons are in the reference of the Python client, which has the same.

const KIB = 1024;
const MIB = KIB * KIB;

export const LIMITS = Object.freeze({
  windowBytes: 4 * MIB,
  flushBytes: 256 * KIB,
  flushIntervalS: 0.25,
  writeBytes: 256 * KIB,
  inboxBytes: 4 * MIB,
  creditFirst: 1024,
  creditMin: 8,
  creditMax: 16384,
  connectTimeoutS: 10,
  closeTimeoutS: 5,
  reconnectTimeoutS: Infinity,
});

export const BOUND_BYTES = 8 * MIB;
export const OPEN_COUNT = 10_000;

/** The limits with some of them changed. */
export function limitsOf(changes = {}) {
  for (const [name, value] of Object.entries(changes)) {
    if (!(name in LIMITS)) throw new RangeError(`limits: there is no ${name}; there are ${Object.keys(LIMITS).join(", ")}`);
    if (!(value > 0)) throw new RangeError(`limits: ${name} is more than 0, got ${value}`);
  }
  return { ...LIMITS, ...changes };
}
