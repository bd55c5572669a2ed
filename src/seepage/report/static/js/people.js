// What people experience: promised against experienced, one row per attribute.

import { axisTicks } from "./axes.js";
import { byId, dataTable, element, jsonNumber, listed, shortened, svg, textWidth } from "./dom.js";
import { csvButton, svgButton } from "./saving.js";

const PERSON_ROW = 26;
const wholePercent = (share) => `${Math.round(100 * share)} %`;
const withLimits = ([estimate, low, high], show) => `${show(estimate)} (${show(low)} to ${show(high)})`;
const twoDigits = (value) => (jsonNumber(value) === Infinity ? "∞" : Number(value).toFixed(2));

/** Fill in the section. */
export function showPeople(content) {
  const body = byId("people-body");
  const found = content.experienced;
  if (!found) {
    body.replaceChildren(
      element("p", {}, "No people were drawn. Totals are suprema over reports; what reports really tell about people needs the records and the mechanisms:"),
      element("p", {}, element("code", {}, "seepage analyse DATA --mechanism grr --people 1000 --report page.html")),
    );
    return;
  }
  const rows = peopleRows(found);
  const top = rows[0];
  const people = found.people.toLocaleString("en");
  const unmeasured = found.attributes.filter((_, k) => found.compared[k] < 2);
  const parts = [
    element("p", {}, `${people} people were drawn from the table and their records perturbed. The realised loss is how much likelier, as a logarithm, all reports of a person are under one value of an attribute than under another, against everybody else in the table. In nats; 1 nat: 2.7 times likelier. This describes drawn people and is no guarantee.`),
    top ? element("p", { class: "headline" }, peopleHeadline(top)) : null,
    rows.length ? element("div", { class: "scroll", role: "region", "aria-label": "Promised and experienced", tabindex: 0 }, peoplePicture(rows)) : null,
    rows.length ? peopleLegend() : null,
    rows.length ? element("p", {}, svgButton("people", () => body.querySelector("svg.picture")), " ", csvButton("people", () => peopleCsv(found, rows))) : null,
    element("details", {}, element("summary", {}, "The same as a table, with limits and best guesses"), peopleTable(found, rows)),
    element("p", { class: "muted small" }, `Each person's own record is left out; values with fewer than ${found.rare.toLocaleString("en")} other records are not compared, for rare ones make losses out of nothing. “If unrelated” is the same on independently permuted columns: with many values, losses above epsilon occur by themselves.`),
    unmeasured.length ? element("p", { class: "muted small" }, `Not measured, for lack of two frequent values: ${listed(unmeasured, 8)}.`) : null,
    ...(found.notes || []).map((note) => element("p", { class: "muted small" }, note)),
  ];
  body.replaceChildren(...parts.filter((part) => part));
}

function peopleRows(found) {
  const rows = found.attributes.map((name, k) => ({
    k,
    name,
    promised: jsonNumber(found.epsilons[k]),
    losses: found.quantiles[k].map(([estimate]) => jsonNumber(estimate)),
    share: found.shares[k][0],
    permuted: found.permuted_shares[k],
  }));
  return rows.filter(({ k }) => found.compared[k] > 1).sort((a, b) => b.share - b.permuted - (a.share - a.permuted));
}

function peopleHeadline({ name, promised, share, permuted }) {
  return `${shortened(name, 60)}: for ${wholePercent(share)} of people the reports tell more than 1.1 times the promised epsilon of ${promised}; if attributes were unrelated, for ${wholePercent(permuted)}.`;
}

function peoplePicture(rows) {
  const place = byId("people-body").clientWidth;
  const narrow = place < 620;
  const width = Math.max(320, Math.min(1300, place));
  const step = narrow ? 42 : PERSON_ROW;
  const left = Math.min(0.3 * width, 20 + Math.max(...rows.map(({ name }) => textWidth(name))));
  const right = narrow ? 12 : 210;
  const finite = rows.flatMap(({ losses, promised }) => [losses[2], 1.2 * promised]).filter(Number.isFinite);
  const most = 1.03 * Math.max(...finite, 1e-9);
  const x = (value) => left + (Math.min(value, most) / most) * (width - left - right);
  const height = 34 + step * rows.length;
  const parts = axisTicks(most, 8).map((tick) =>
    svg("g", {}, svg("path", { class: "grid", d: `M${x(tick)},22V${height - 4}` }), svg("text", { class: "tick", x: x(tick), y: 14, "text-anchor": "middle" }, String(tick))),
  );
  rows.forEach(({ name, promised, losses, share, permuted }, row) => {
    const y = 36 + step * row;
    const told = `${wholePercent(share)} above, ${wholePercent(permuted)} if unrelated`;
    parts.push(
      svg(
        "g",
        {},
        svg("title", {}, `${name}: promised ${promised}; half of the people above ${twoDigits(losses[1])} nats, one in twenty above ${twoDigits(losses[2])}; ${told}`),
        svg("text", { class: "label", x: left - 10, y: y + 4, "text-anchor": "end" }, shortened(name, Math.floor(left / 7))),
        svg("path", { class: "nine", d: `M${x(losses[0])},${y - 6}H${x(losses[2])}V${y + 6}H${x(losses[0])}Z` }),
        svg("path", { class: "median", d: `M${x(losses[1])},${y - 8}v16` }),
        Number.isFinite(promised) ? svg("path", { class: "promised", d: `M${x(promised)},${y - 11}v22` }) : null,
        svg("text", narrow ? { class: "tick", x: left, y: y + 21 } : { class: "tick", x: width - right + 10, y: y + 4 }, told),
      ),
    );
  });
  const label = `Promised epsilon and experienced loss of ${rows.length} attributes, in nats`;
  return svg("svg", { viewBox: `0 0 ${width} ${height}`, class: "picture", role: "img", "aria-label": label }, ...parts);
}

function peopleLegend() {
  return element(
    "p",
    { class: "legend-line", "aria-hidden": "true" },
    element("span", { class: "swatch promise" }),
    " promised epsilon ",
    element("span", { class: "swatch nine" }),
    " nine in ten people ",
    element("span", { class: "swatch middle" }),
    " the median person",
  );
}

function peopleCsv(found, rows) {
  const head = ["attribute", "promised epsilon", "median loss", "low", "high", "95% loss", "low", "high", "share above 1.1 epsilon", "low", "high", "if unrelated", "guess before", "guess own", "guess all"];
  const cells = ({ k, name, promised, share, permuted }) => [
    name,
    promised,
    ...found.quantiles[k][1].map(jsonNumber),
    ...found.quantiles[k][2].map(jsonNumber),
    share,
    ...found.shares[k].slice(1),
    permuted,
    found.before[k],
    found.own[k][0],
    found.together[k][0],
  ];
  return [head, ...rows.map(cells)];
}

function peopleTable(found, rows) {
  const head = ["attribute", "promised", "median loss", "95% of people below", "above 1.1 epsilon", "if unrelated", "best guess right before", "with the own report", "with all reports"];
  const cells = rows.map(({ k, name, promised, permuted }) => [
    name,
    twoDigits(promised),
    withLimits(found.quantiles[k][1], twoDigits),
    withLimits(found.quantiles[k][2], twoDigits),
    withLimits(found.shares[k], wholePercent),
    wholePercent(permuted),
    wholePercent(found.before[k]),
    withLimits(found.own[k], wholePercent),
    withLimits(found.together[k], wholePercent),
  ]);
  const caption = `Limits in brackets hold for all attributes at once with confidence ${wholePercent(found.confidence)}, each column for itself`;
  return element("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "What people experience, as a table" }, dataTable(caption, head, cells));
}
