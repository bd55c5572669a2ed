// Elements and numbers as text.  Text from the data only ever becomes text nodes or attributes.

const SVG_SPACE = "http://www.w3.org/2000/svg";

function filled(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "style") Object.entries(value).forEach(([key, to]) => node.style.setProperty(key, to));
    else if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value !== false) node.setAttribute(name, value === true ? "" : String(value));
  }
  node.append(...children.filter((child) => child !== null));
  return node;
}

/** A new HTML element with attributes, listeners (`onclick`) and children. */
function element(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

/** A new SVG element. */
function svg(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG_SPACE, tag), attributes, children);
}

/** The element with an id. */
function byId(id) {
  return document.getElementById(id);
}

/** A number of nats with two decimals, or one significant digit below 0.01. */
function nats(value) {
  if (value === Infinity) return "∞";
  if (value === 0) return "0";
  return value < 0.01 ? value.toPrecision(1) : value.toFixed(2);
}

/** The factor e^leakage, as "2.72 times". */
function times(leakage) {
  if (leakage > 700) return "infinitely";
  const ratio = Math.exp(leakage);
  if (ratio >= 1e6) return `${ratio.toExponential(1)} times`;
  return `${ratio >= 100 ? Math.round(ratio) : ratio.toPrecision(3)} times`;
}

const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/;

/** Text for the middle of a sentence: right-to-left text is isolated from the text around it. */
function isolated(text) {
  return RIGHT_TO_LEFT.test(text) ? `\u2068${text}\u2069` : text;
}

/** Text cut to a length, with an ellipsis. */
function shortened(text, length) {
  const letters = Array.from(text);
  return isolated(letters.length <= length ? text : `${letters.slice(0, length - 1).join("")}…`);
}

/** "source → target", with names isolated for mixed text directions. */
function arrow(source, target) {
  return `${isolated(source)} → ${isolated(target)}`;
}

/** A value's name in quotation marks, cut to a length. */
function quoted(text) {
  return `“${shortened(text, 40)}”`;
}

/** A table from a head and rows; the first cell of each row is its heading. */
function dataTable(caption, head, rows) {
  const cells = (row) => row.map((cell, i) => (i ? element("td", {}, cell) : element("th", { scope: "row" }, cell)));
  return element(
    "table",
    {},
    element("caption", {}, caption),
    element("thead", {}, element("tr", {}, ...head.map((name) => element("th", { scope: "col" }, name)))),
    element("tbody", {}, ...rows.map((row) => element("tr", {}, ...cells(row)))),
  );
}
