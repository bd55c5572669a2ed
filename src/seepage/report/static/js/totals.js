// The totals of each attribute under every computed guarantee, as one picture.

import { axisTicks } from "./axes.js";
import { byId, dataTable, element, listed, nats, quoted, shortened, svg, textWidth, times } from "./dom.js";
import { csvButton, svgButton } from "./saving.js";

const KIND_WORDS = {
  certified: "certified: holds whatever the adversary does",
  statistical: "statistical: holds with the stated confidence",
  assumed: "assumed: holds only if its assumption does",
  "lower bound": "witnessed: a report that was found to tell this much",
};
const NAME_WORDS = {
  worst: "the sum of all budgets",
  exact: "the largest over all reports of the joint table",
  merged: "all sources as one source",
  sampled: "the privacy loss of drawn reports",
  witness: "the most telling report that a search found",
  independent: "the sum of pairwise leakages, if sources are independent given the target",
  tree: "if the data follow a tree",
};
const ROW = 26;
const MAX_WIDTH = 1300;
const SAME_MARK = 11;
const MIN_WIDTH = 340;

/** Show the picture, its legend, refuted totals, and the table. */
export function showTotals(content, limits) {
  const body = byId("totals-body");
  const { totals } = content;
  if (!totals.length) {
    body.replaceChildren(element("p", { class: "muted" }, "The saved result has no totals."));
    return;
  }
  const numbers = totals.map((total) => total.totals.map((value) => (value === "inf" ? Infinity : value)));
  const refuted = refutations(content, totals, numbers);
  const parts = [
    legendOf(totals),
    refutedText(refuted, totals),
    element("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Totals as a picture" }, picture(content, totals, numbers, limits, refuted)),
    element(
      "p",
      {},
      svgButton("totals", () => body.querySelector("svg.picture")),
      " ",
      csvButton("totals", () => [["attribute", ...totals.map((total) => `${total.guarantee} (${total.kind})`)], ...content.attributes.map((attribute, i) => [attribute.name, ...numbers.map((row) => row[i])])]),
    ),
    tableOf(content, totals, numbers, refuted),
    evidenceOf(totals, numbers),
    refusedOf(content),
    ...notesOf(totals),
  ];
  body.replaceChildren(...parts.filter((part) => part));
}

/** Each distinct note, with the guarantees that it applies to. */
function notesOf(totals) {
  const about = new Map();
  for (const total of totals) {
    for (const note of total.notes || []) about.set(note, [...(about.get(note) || []), total.guarantee]);
  }
  return [...about].map(([note, names]) => element("p", { class: "muted small" }, `${names.join(", ")}: ${note}`));
}

/** Assumed totals that a witness refutes, by the key "index of the guarantee-index of the attribute". */
function refutations(content, totals, numbers) {
  const refuted = new Map();
  const witness = totals.findIndex((total) => total.guarantee === "witness");
  totals.forEach((total, t) => {
    const refutedNames = new Set((content.refuted || {})[total.guarantee] || []);
    content.attributes.forEach((attribute, i) => {
      if (!refutedNames.has(attribute.name)) return;
      const witnessed = witness < 0 ? NaN : numbers[witness][i];
      refuted.set(`${t}-${i}`, { name: attribute.name, assumed: numbers[t][i], witnessed });
    });
  });
  return refuted;
}

function legendOf(totals) {
  const items = totals.map((total, t) =>
    element(
      "li",
      {},
      svg("svg", { class: "key", viewBox: "-9 -9 18 18", "aria-hidden": "true" }, markOf(total, 0, 0)),
      element("strong", {}, total.guarantee),
      ` – ${NAME_WORDS[total.guarantee] || ""}; `,
      element("em", {}, KIND_WORDS[total.kind] || total.kind),
      total.confidence ? ` (${total.confidence})` : "",
    ),
  );
  return element("ul", { class: "keys" }, ...items);
}

function refutedText(refuted, totals) {
  const searched = totals.some((total) => total.guarantee === "witness");
  if (!refuted.size) {
    const text = searched
      ? "No assumed total is refuted by the witnesses found; that is not the same as certified."
      : "No witness was searched for: pair counts alone cannot certify totals or refute assumptions. Analyse the records themselves for exact, sampled and witnessed totals.";
    return element("p", { class: "note" }, text);
  }
  const words = [...refuted.values()].map((refutation) => `${shortened(refutation.name, 30)} (assumed ${nats(refutation.assumed)}, witnessed ${nats(refutation.witnessed)})`);
  return element("p", { class: "note warning" }, `Refuted for ${refuted.size}: ${listed(words, 6, 90)}.`);
}

/** The mark of a kind, distinct in shape and colour, as in the charts. */
function markOf(total, x, y) {
  const at = { transform: `translate(${x},${y})`, class: `mark-${total.kind.replace(" ", "-")}` };
  if (total.kind === "certified") return svg("path", { ...at, d: "M-5,-5H5V5H-5Z" });
  if (total.kind === "statistical") return svg("circle", { ...at, r: 5.5 });
  if (total.kind === "assumed") return svg("path", { ...at, d: "M0,-6L6,5H-6Z" });
  return svg("path", { ...at, d: "M-4,-6L6,0L-4,6Z" });
}

function picture(content, totals, numbers, limits, refuted) {
  const width = Math.max(MIN_WIDTH, Math.min(MAX_WIDTH, byId("totals-body").clientWidth));
  const left = Math.max(80, Math.min(0.32 * width, 20 + Math.max(...content.attributes.map(({ name }) => textWidth(name)))));
  const maximum = axisEnd(totals, numbers, limits);
  const x = (value) => left + (Math.min(value, maximum) / maximum) * (width - left - 20);
  const largest = (i) => Math.max(...numbers.map((row) => row[i]));
  const judged = numbers[totals.findIndex((total) => total.guarantee !== "worst")] || numbers[0];
  const order = content.attributes.map((_, i) => i).sort((a, b) => rankOf(content, limits, a) - rankOf(content, limits, b) || judged[b] - judged[a]);
  const height = 34 + ROW * order.length;
  const parts = axisTicks(maximum, 7).map((tick) =>
    svg("g", {}, svg("path", { class: "grid", d: `M${x(tick)},22V${height - 4}` }), svg("text", { class: "tick", x: x(tick), y: 14, "text-anchor": "middle" }, String(tick))),
  );
  order.forEach((i, row) => {
    const y = 34 + ROW * row;
    const name = content.attributes[i].name;
    parts.push(svg("text", { class: "label", x: left - 10, y: y + 4, "text-anchor": "end" }, shortened(name, Math.floor(left / 7)), svg("title", {}, name)));
    parts.push(svg("path", { class: "grid", d: `M${left},${y}H${x(largest(i))}` }));
    if (Number.isFinite(limits[i])) parts.push(svg("path", { class: "limit-mark", d: `M${x(limits[i])},${y - 10}v20` }));
    totals.forEach((total, t) => {
      if (numbers[t][i] > maximum) {
        parts.push(svg("text", { class: "tick beyond", x: width - 32, y: y + 4, "text-anchor": "end" }, `${nats(numbers[t][i])} →`));
      }
    });
    parts.push(...labelsOf(totals, numbers, i, x, y, maximum, row === 0, width));
    totals.forEach((total, t) => parts.push(pointOf(total, t, numbers[t][i], x(numbers[t][i]), y, name, refuted.has(`${t}-${i}`))));
  });
  const label = `Totals of ${order.length} attributes by ${totals.map((total) => total.guarantee).join(", ")}, in nats`;
  return svg("svg", { viewBox: `0 0 ${width} ${height}`, class: "picture", role: "img", "aria-label": label }, ...parts);
}

/** Sort key: exceeded limits first, then those that are not certifiable. */
function rankOf(content, limits, i) {
  const { lower, upper } = content.verdict.attributes[i];
  if (!Number.isFinite(limits[i])) return 3;
  return lower === "inf" || lower > limits[i] ? 0 : upper === "inf" || upper > limits[i] ? 1 : 2;
}

/** Labels of marks: of all in the first row, and of marks that coincide in others. */
function labelsOf(totals, numbers, i, x, y, maximum, first, rightmost) {
  const marks = totals.map((total, t) => ({ name: total.guarantee, at: x(numbers[t][i]), value: numbers[t][i] })).filter(({ value }) => value <= maximum);
  marks.sort((a, b) => a.at - b.at);
  const groups = [];
  for (const mark of marks) {
    const last = groups[groups.length - 1];
    if (last && mark.at - last[last.length - 1].at < SAME_MARK) last.push(mark);
    else groups.push([mark]);
  }
  let end = -Infinity;
  return groups.map((group) => {
    const text = group.map(({ name }) => name).join(", ");
    const labelWidth = 6 * text.length;
    const at = group[group.length - 1].at + 9;
    const turned = at + labelWidth > rightmost;
    const start = turned ? group[0].at - 9 - labelWidth : at;
    if ((group.length < 2 && !first) || start < end) return null;
    end = start + labelWidth;
    const anchor = turned ? { x: group[0].at - 9, "text-anchor": "end" } : { x: at };
    return svg("text", { class: "tick beyond", ...anchor, y: y - 5 }, text);
  }).filter((label) => label);
}

/** The end of the axis: the largest total; without `worst` if that is far above all others. */
function axisEnd(totals, numbers, limits) {
  const largest = (rows) => Math.max(...rows.flat().filter(Number.isFinite), ...limits.filter(Number.isFinite), 1e-9);
  const close = largest(numbers.filter((_, t) => totals[t].guarantee !== "worst"));
  const all = largest(numbers);
  return 1.05 * (close > 1e-9 && all > 2.5 * close ? 1.4 * close : all);
}

function pointOf(total, t, value, x, y, name, wrong) {
  const title = svg("title", {}, `${name}, ${total.guarantee} (${total.kind}): ${nats(value)}${wrong ? ", refuted" : ""}`);
  const cross = wrong ? svg("path", { class: "refuted", d: `M${x - 7},${y - 7}l14,14m0,-14l-14,14` }) : null;
  return svg("g", {}, markOf(total, x, y), cross, title);
}

/** The witnesses with the largest leakage, as sentences. */
function evidenceOf(totals, numbers) {
  const t = totals.findIndex((total) => total.evidence.some((witness) => witness));
  if (t < 0) return null;
  const known = totals[t].evidence.map((witness, i) => ({ witness, value: numbers[t][i] })).filter(({ witness }) => witness && witness.beyond_own !== false);
  if (!known.length) return null;
  known.sort((a, b) => b.value - a.value);
  return element(
    "div",
    {},
    element("h3", {}, `Evidence for ${totals[t].guarantee}`),
    element("ul", {}, ...known.slice(0, 3).map(({ witness }) => element("li", {}, evidenceText(witness)))),
  );
}

/** The leakage on held-out people; minus infinity if the reports do not occur among them. */
function heldOutText(value) {
  return value === "-inf" ? "not confirmed" : `${nats(value)} nats`;
}

function evidenceText({ target, likelier, other, reports, more, value, held_out: heldOut }) {
  const named = Object.entries(reports).map(([name, likely]) => `${shortened(name, 30)} ${listed(likely.map(quoted), 3)}`);
  const shown = named.join("; ") + (more > 0 ? ` and ${more} more` : "");
  const seen = heldOut === null || heldOut === undefined ? "" : ` (${heldOutText(heldOut)} on people not searched)`;
  return (
    `Reports that favour ${shown} are ${times(value === "inf" ? Infinity : value)} likelier under ` +
    `${shortened(target, 30)} ${quoted(likelier)} than under ${quoted(other)}${seen}.`
  );
}

function refusedOf(content) {
  const refused = Object.entries(content.refused || {});
  if (!refused.length) return null;
  const items = refused.map(([name, reason]) => element("li", {}, element("strong", {}, name), `: ${reason}`));
  return element("details", {}, element("summary", {}, "Totals that could not be computed"), element("ul", {}, ...items));
}

function tableOf(content, totals, numbers, refuted) {
  const head = ["attribute", ...totals.map((total) => `${total.guarantee} (${total.kind})`)];
  const rows = content.attributes.map((attribute, i) => [
    attribute.name,
    ...numbers.map((row, t) => (refuted.has(`${t}-${i}`) ? `${nats(row[i])} refuted` : nats(row[i]))),
  ]);
  return element(
    "details",
    {},
    element("summary", {}, "The same numbers as a table"),
    element("div", { class: "scroll tall", tabindex: 0, role: "region", "aria-label": "Totals as a table" }, dataTable("Totals in nats, as analysed", head, rows)),
  );
}
