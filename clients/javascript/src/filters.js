// Filters are texts in the language of docs/reference/filters.md; the broker reads them.

const ESCAPED = /[\u007f-\u009f\u2028\u2029]/g;

function literal(value) {
  if (Array.isArray(value)) return `(${value.map((each) => `${literal(each)},`).join(" ")})`;
  switch (typeof value) {
    case "string": return JSON.stringify(value).replace(ESCAPED, (each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, "0")}`);
    case "boolean": return value ? "True" : "False";
    case "bigint": return String(value);
    case "object":
      if (value === null) return "None";
      break;
    case "number":
      if (Number.isFinite(value)) return String(value);
  }
  throw new TypeError(`a filter has texts, numbers that are finite, truth values, null and arrays of them; got ${String(value)}`);
}

/** A filter with values in it, which are written as the language has them: filter`symbol == ${symbol}`. */
export function filter(texts, ...values) {
  return texts.raw.map((text, place) => (place < values.length ? text + literal(values[place]) : text)).join("");
}
