// What programs ask for: every option is checked before the broker is asked.

import { Inbox } from "./inbox.js";
import { BOUND_BYTES, OPEN_COUNT } from "./limits.js";

const YEAR_S = 366 * 86400;
const COUNT_MAX = 100_000;
const UNITS_S = { ms: 0.001, s: 1, m: 60, h: 3600, d: 86400 };
const SUBSCRIPTION = {
  ordered: true, boundBytes: BOUND_BYTES, policy: undefined, durable: "", ageS: 0, after: null, ack: "auto", maxOpen: OPEN_COUNT, resume: "", replay: undefined,
};

function must(isSo, text) {
  if (!isSo) throw new RangeError(text);
}

/** The inbox of a subscription that begins now. Throws `RangeError` for an option that cannot be. */
export function inboxOf(filter, options, limits, nowS) {
  for (const name of Object.keys(options)) must(name in SUBSCRIPTION, `subscribe: there is no option ${name}; there are ${Object.keys(SUBSCRIPTION).join(", ")}`);
  const { policy = options.durable ? "drop" : "disconnect", ...others } = { ...SUBSCRIPTION, ...options };
  const { boundBytes, durable, ageS, after, ack, maxOpen, resume, replay } = others;
  must(policy === "disconnect" || policy === "drop", `policy: expected "disconnect" or "drop", got ${policy}`);
  must(Number.isSafeInteger(boundBytes) && boundBytes >= 1, `boundBytes: expected 1 or more, got ${boundBytes}`);
  must(ageS >= 0 && ageS < Infinity, `ageS: expected 0 or more, got ${ageS}`);
  must(durable || (!ageS && after === null), "ageS and after are for subscriptions with a durable name");
  must(after === null || (Number.isSafeInteger(after) && after >= 0), `after: expected a position, 0 or more, got ${after}`);
  must(!resume || after !== null, "resume names the subscription that after is a position of: give both");
  must(ack === "auto" || ack === "manual", `ack: expected "auto" or "manual", got ${ack}`);
  must(ack === "auto" || durable, "ack: \"manual\" is for subscriptions with a durable name: others end with the program");
  must(Number.isSafeInteger(maxOpen) && maxOpen >= 1, `maxOpen: expected 1 or more, got ${maxOpen}`);
  const asked = { ...others, policy, ageS: Math.ceil(ageS), maxOpen: ack === "manual" ? maxOpen : 0, replay: replayOf(replay, nowS) };
  return new Inbox(String(filter), asked, limits);
}

/** What to ask of the past, at the time that it is given: the age counts from now on. */
function replayOf(wanted, begunS) {
  if (wanted === undefined || wanted === null) return () => [];
  const { count, ageS } = readReplay(wanted);
  must(count !== undefined || ageS !== undefined, "replay: say how many publications, or how old they may be");
  must(count === undefined || (Number.isSafeInteger(count) && count >= 1 && count <= COUNT_MAX), `replay: expected 1 to ${COUNT_MAX} publications, got ${count}`);
  must(ageS === undefined || (ageS >= 0 && ageS <= YEAR_S), `replay: expected an age of 0 seconds to a year, got ${ageS} s`);
  return (nowS) => (ageS === undefined ? [count] : [count ?? 0, Math.ceil((ageS + nowS - begunS) * 1000)]);
}

function readReplay(wanted) {
  if (typeof wanted === "number") return { count: wanted };
  if (typeof wanted === "object") return wanted;
  const text = String(wanted);
  if (text === "now") return { ageS: 0 };
  if (/^\d+$/.test(text)) return { count: Number(text) };
  must(/^(\d+(\.\d+)?(ms|s|m|h|d))+$/.test(text), `replay: expected an age such as "5m", "now", a number of publications, or both in an object, got ${text}`);
  return { ageS: [...text.matchAll(/([\d.]+)(ms|[smhd])/g)].reduce((sum, [, number, unit]) => sum + Number(number) * UNITS_S[unit], 0) };
}
