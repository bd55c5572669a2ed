// Tables as CSV and pictures as SVG, saved by the page without a request.

import { byId, element } from "./dom.js";

const FORMULA = /^(?:'+[=+\-@\t\r\n]|[=+\-@\t\r\n](?!(?<=[+-])(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$))/i;
/** Characters that XML does not permit. */
const UNWRITABLE = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g;
const DRAWN = ["fill", "stroke", "stroke-width", "stroke-dasharray", "stroke-opacity", "fill-opacity", "opacity", "font-family", "font-size", "font-weight", "paint-order"];

function save(name, type, text) {
  const link = element("a", { href: URL.createObjectURL(new Blob([text], { type })), download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

/** One CSV cell, quoted if needed; a text that a spreadsheet may evaluate gets a quote in front. */
export function csvCell(value) {
  if (value === null || value === undefined) return "";
  const text = typeof value === "string" && FORMULA.test(value) ? `'${value}` : String(value === Infinity ? "inf" : value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function fileName(name, ending) {
  const data = (byId("title").textContent || "seepage").replace(/[^\p{L}\p{N}.-]+/gu, "-").slice(0, 40);
  return `${data}-${name}.${ending}`;
}

/** A button that saves rows, computed when it is pressed, as CSV. */
export function csvButton(name, rows) {
  const text = () => rows().map((row) => row.map(csvCell).join(",")).join("\n");
  const onclick = () => save(fileName(name, "csv"), "text/csv", `${text()}\n`);
  return element("button", { type: "button", class: "save", onclick }, "Save as CSV");
}

/** A button that saves a picture of the page as SVG, in its current style. */
export function svgButton(name, picture) {
  const onclick = () => save(fileName(name, "svg"), "image/svg+xml", svgText(picture()));
  return element("button", { type: "button", class: "save", onclick }, "Save as SVG");
}

/** A picture as a standalone SVG file: computed styles become attributes. */
export function svgText(picture) {
  const copy = picture.cloneNode(true);
  const [from, to] = [picture.querySelectorAll("*"), copy.querySelectorAll("*")];
  from.forEach((node, i) => {
    const style = getComputedStyle(node);
    for (const key of DRAWN) to[i].setAttribute(key, style.getPropertyValue(key));
  });
  const [, , width, height] = picture.getAttribute("viewBox").split(" ");
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("width", width);
  copy.setAttribute("height", height);
  const paper = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  for (const [key, value] of [["width", "100%"], ["height", "100%"], ["fill", getComputedStyle(document.body).backgroundColor]]) paper.setAttribute(key, value);
  copy.prepend(paper);
  return new XMLSerializer().serializeToString(copy).replace(UNWRITABLE, "\ufffd");
}
