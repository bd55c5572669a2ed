// Realised privacy loss of drawn people against the promised epsilon, one row per attribute.

import { axisTicks } from "./axes.js";
import { byId, dataTable, element, jsonNumber, listed, shortened, svg, textWidth } from "./dom.js";
import { csvButton, svgButton } from "./saving.js";

const PERSON_ROW = 26;
const wholePercent = (share) => `${Math.round(100 * share)} %`;
const withLimits = ([estimate, low, high], show) => `${show(estimate)} (${show(low)} to ${show(high)})`;
const twoDigits = (value) => (jsonNumber(value) === Infinity ? "∞" : Number(value).toFixed(2));

/** Show the section on drawn people. */
export function showPeople(content) {
  const body = byId("people-body");
  const experience = content.experienced;
  if (!experience) {
    body.replaceChildren(
      element("p", {}, "No people were drawn. Totals are suprema over reports; what reports really tell about people needs the records and the mechanisms:"),
      element("p", {}, element("code", {}, "seepage analyse DATA --mechanism grr --people 1000 --report page.html")),
    );
    return;
  }
  const rows = peopleRows(experience);
  const top = rows[0];
  const people = experience.people.toLocaleString("en");
  const unmeasured = experience.attributes.filter((_, k) => experience.compared[k] < 2);
  const parts = [
    element("p", {}, `${people} people were drawn from the table and their records perturbed. The realised loss is how much likelier, as a logarithm, all reports of a person are under one value of an attribute than under another, against everybody else in the table. In nats; 1 nat: 2.7 times likelier. This describes drawn people and is no guarantee.`),
    top ? element("p", { class: "headline" }, peopleHeadline(top)) : null,
    rows.length ? element("div", { class: "scroll", role: "region", "aria-label": "Promised and experienced", tabindex: 0 }, peoplePicture(rows)) : null,
    rows.length ? peopleLegend() : null,
    rows.length ? element("p", {}, svgButton("people", () => body.querySelector("svg.picture")), " ", csvButton("people", () => peopleCsv(experience, rows))) : null,
    element("details", {}, element("summary", {}, "The same as a table, with limits and best guesses"), peopleTable(experience, rows)),
    element("p", { class: "muted small" }, `Each person's own record is left out; values with fewer than ${experience.rare.toLocaleString("en")} other records are not compared: rare values inflate losses. “If unrelated” is the same on independently permuted columns: with many values, losses above epsilon occur by chance.`),
    unmeasured.length ? element("p", { class: "muted small" }, `Not measured, for lack of two frequent values: ${listed(unmeasured, 8)}.`) : null,
    ...(experience.notes || []).map((note) => element("p", { class: "muted small" }, note)),
  ];
  body.replaceChildren(...parts.filter((part) => part));
}

function peopleRows(experience) {
  const rows = experience.attributes.map((name, k) => ({
    k,
    name,
    promised: jsonNumber(experience.epsilons[k]),
    losses: experience.quantiles[k].map(([estimate]) => jsonNumber(estimate)),
    share: experience.shares[k][0],
    permuted: experience.permuted_shares[k],
  }));
  return rows.filter(({ k }) => experience.compared[k] > 1).sort((a, b) => b.share - b.permuted - (a.share - a.permuted));
}

function peopleHeadline({ name, promised, share, permuted }) {
  return `${shortened(name, 60)}: for ${wholePercent(share)} of people the reports tell more than 1.1 times the promised epsilon of ${promised}; if attributes were unrelated, for ${wholePercent(permuted)}.`;
}

function peoplePicture(rows) {
  const available = byId("people-body").clientWidth;
  const narrow = available < 620;
  const width = Math.max(320, Math.min(1300, available));
  const step = narrow ? 42 : PERSON_ROW;
  const left = Math.min(0.3 * width, 20 + Math.max(...rows.map(({ name }) => textWidth(name))));
  const right = narrow ? 12 : 210;
  const finite = rows.flatMap(({ losses, promised }) => [losses[2], 1.2 * promised]).filter(Number.isFinite);
  const maximum = 1.03 * Math.max(...finite, 1e-9);
  const x = (value) => left + (Math.min(value, maximum) / maximum) * (width - left - right);
  const height = 34 + step * rows.length;
  const parts = axisTicks(maximum, 8).map((tick) =>
    svg("g", {}, svg("path", { class: "grid", d: `M${x(tick)},22V${height - 4}` }), svg("text", { class: "tick", x: x(tick), y: 14, "text-anchor": "middle" }, String(tick))),
  );
  rows.forEach(({ name, promised, losses, share, permuted }, row) => {
    const y = 36 + step * row;
    const shares = `${wholePercent(share)} above, ${wholePercent(permuted)} if unrelated`;
    parts.push(
      svg(
        "g",
        {},
        svg("title", {}, `${name}: promised ${promised}; half of the people above ${twoDigits(losses[1])} nats, one in twenty above ${twoDigits(losses[2])}; ${shares}`),
        svg("text", { class: "label", x: left - 10, y: y + 4, "text-anchor": "end" }, shortened(name, Math.floor(left / 7))),
        svg("path", { class: "nine", d: `M${x(losses[0])},${y - 6}H${x(losses[2])}V${y + 6}H${x(losses[0])}Z` }),
        svg("path", { class: "median", d: `M${x(losses[1])},${y - 8}v16` }),
        Number.isFinite(promised) ? svg("path", { class: "promised", d: `M${x(promised)},${y - 11}v22` }) : null,
        svg("text", narrow ? { class: "tick", x: left, y: y + 21 } : { class: "tick", x: width - right + 10, y: y + 4 }, shares),
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

function peopleCsv(experience, rows) {
  const head = ["attribute", "promised epsilon", "median loss", "low", "high", "95% loss", "low", "high", "share above 1.1 epsilon", "low", "high", "if unrelated", "guess before", "guess own", "guess all"];
  const cells = ({ k, name, promised, share, permuted }) => [
    name,
    promised,
    ...experience.quantiles[k][1].map(jsonNumber),
    ...experience.quantiles[k][2].map(jsonNumber),
    share,
    ...experience.shares[k].slice(1),
    permuted,
    experience.before[k],
    experience.own[k][0],
    experience.together[k][0],
  ];
  return [head, ...rows.map(cells)];
}

function peopleTable(experience, rows) {
  const head = ["attribute", "promised", "median loss", "95% of people below", "above 1.1 epsilon", "if unrelated", "best guess right before", "with the own report", "with all reports"];
  const cells = rows.map(({ k, name, promised, permuted }) => [
    name,
    twoDigits(promised),
    withLimits(experience.quantiles[k][1], twoDigits),
    withLimits(experience.quantiles[k][2], twoDigits),
    withLimits(experience.shares[k], wholePercent),
    wholePercent(permuted),
    wholePercent(experience.before[k]),
    withLimits(experience.own[k], wholePercent),
    withLimits(experience.together[k], wholePercent),
  ]);
  const caption = `Limits in brackets hold for all attributes at once with confidence ${wholePercent(experience.confidence)}, each column for itself`;
  return element("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "What people experience, as a table" }, dataTable(caption, head, cells));
}
