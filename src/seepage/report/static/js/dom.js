// Elements and numbers as text.  Text from the data only ever becomes text nodes or attributes.

const SVG_SPACE = "http://www.w3.org/2000/svg";

function filled(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "style") Object.entries(value).forEach(([key, to]) => node.style.setProperty(key, to));
    else if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  node.append(...children.filter((child) => child !== null));
  return node;
}

/** A new HTML element with attributes, listeners (`onclick`) and children. */
export function element(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

/** A new SVG element. */
export function svg(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG_SPACE, tag), attributes, children);
}

/** The element with an id. */
export function byId(id) {
  return document.getElementById(id);
}

/** A number of nats with two decimals, or one significant digit below 0.01. */
export function nats(value) {
  if (value === "inf" || value === Infinity) return "∞";
  const number = Number(value);
  if (number === 0) return "0";
  return number < 0.01 ? number.toPrecision(1) : number.toFixed(2);
}

/** The factor e^leakage, as "2.72 times". */
export function times(leakage) {
  if (leakage === Infinity || leakage > 700) return "infinitely";
  const ratio = Math.exp(leakage);
  if (ratio >= 1e6) return `${ratio.toExponential(1)} times`;
  return `${ratio >= 100 ? Math.round(ratio) : ratio.toPrecision(3)} times`;
}

const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/;

/** Text for the middle of a sentence: right-to-left text is isolated from the text around it. */
export function isolated(text) {
  return RIGHT_TO_LEFT.test(text) ? `\u2068${text}\u2069` : text;
}

/** Text cut to a length, with an ellipsis. */
export function shortened(text, length) {
  const letters = Array.from(text);
  return isolated(letters.length <= length ? text : `${letters.slice(0, length - 1).join("")}…`);
}

/** "source → target", with names isolated for mixed text directions. */
export function arrow(source, target) {
  return `${isolated(source)} → ${isolated(target)}`;
}

/** A count with its noun, such as "2 attributes". */
export function counted(count, thing) {
  return `${count} ${thing}${count === 1 ? "" : "s"}`;
}

/** A value's name in quotation marks, cut to a length. */
export function quoted(text) {
  return `“${shortened(String(text), 40)}”`;
}

/** The first names, separated by commas, and the number of the others. */
export function listed(names, maximum, length = 46) {
  const shown = names.slice(0, maximum).map((name) => shortened(name, length));
  const more = names.length - shown.length;
  return more > 0 ? `${shown.join(", ")} and ${more} more` : shown.join(", ");
}

/** The approximate width of a text in the page's small font, in pixels. */
export function textWidth(text) {
  return Array.from(text).reduce((sum, letter) => sum + (letter.codePointAt(0) > 0x1100 ? 13 : 7), 0);
}

/** A table from a head and rows; the first cell of each row is its heading. */
export function dataTable(caption, head, rows) {
  const cells = (row) => row.map((cell, i) => (i ? element("td", {}, cell) : element("th", { scope: "row" }, cell)));
  return element(
    "table",
    {},
    element("caption", {}, caption),
    element("thead", {}, element("tr", {}, ...head.map((name) => element("th", { scope: "col" }, name)))),
    element("tbody", {}, ...rows.map((row) => element("tr", {}, ...cells(row)))),
  );
}

/** A number of the JSON, in which infinity is the text "inf". */
export function jsonNumber(value) {
  return value === "inf" ? Infinity : value;
}
