// The verdict in plain words: the strongest leaks, and totals against limits.

import { arrow, byId, counted, element, listed, nats, quoted, shortened, times } from "./dom.js";
import { MECHANISM_NAMES } from "./mechanisms.js";

const PROMISES = ["exact", "merged", "sampled", "tree", "independent", "worst"];
const MOST_TOTALS = 8;

/** The saved total that promises most while saying more than the sum of budgets. */
export function mainTotal(content) {
  const ranked = PROMISES.map((name) => content.totals.find((total) => total.guarantee === name));
  return ranked.find((total) => total) || null;
}

/** How everything was released, in words. */
export function settingText(content) {
  const same = (list) => list.every((item) => item === list[0]);
  const mechanism = !same(content.mechanism)
    ? "several mechanisms"
    : content.mechanism[0] === null
      ? "any mechanism (the bound)"
      : MECHANISM_NAMES[content.mechanism[0]] || content.mechanism[0];
  const epsilon = same(content.epsilon)
    ? `epsilon ${content.epsilon[0]} each`
    : `epsilon ${Math.min(...content.epsilon)} to ${Math.max(...content.epsilon)}`;
  const keeps = content.view === "report" ? "the whole report" : "a value inferred from the report";
  return `${mechanism}, ${epsilon}, adversary keeps ${keeps}`;
}

/** Fill in the verdict. */
export function showVerdict(content, limits) {
  const body = byId("verdict-body");
  body.replaceChildren(leaksPart(content), totalsPart(content, limits));
}

function leaksPart(content) {
  const leaks = (content.strongest || []).filter((leak) => leak.cpl === "inf" || leak.cpl > 0);
  if (!leaks.length) {
    return element("p", { class: "headline" }, "No attribute tells anything about another.");
  }
  const [first] = leaks;
  const own = content.epsilon[content.attributes.findIndex((a) => a.name === first.target)];
  const headline = element(
    "p",
    { class: "headline" },
    element("strong", {}, shortened(first.source, 60)),
    " tells most about ",
    element("strong", {}, shortened(first.target, 60)),
    `: ${nats(first.cpl)} nats, where the target's own report may tell ${nats(own)}.`,
  );
  const items = leaks.slice(0, 5).map((leak) => element("li", {}, ...leakWords(leak)));
  return element(
    "div",
    {},
    headline,
    element("h3", {}, "Strongest leaks"),
    element("ol", { class: "leaks" }, ...items),
    element("p", { class: "muted small" }, `Settings: ${settingText(content)}.`),
  );
}

function leakWords(leak) {
  const value = leak.cpl === "inf" ? Infinity : leak.cpl;
  const why = leak.likely
    ? ` Seeing a report that favours ${shortened(leak.source, 40)} ${listed(leak.likely.map(quoted), 4) || "nothing"} makes ` +
      `${shortened(leak.target, 40)} ${quoted(leak.likelier)} ${times(value)} likelier, against ${quoted(leak.other)}, than before.`
    : "";
  return [
    element("strong", {}, arrow(shortened(leak.source, 60), shortened(leak.target, 60))),
    ` ${nats(leak.cpl)} nats.`,
    element("span", { class: "muted" }, why),
  ];
}

function totalsPart(content, limits) {
  const total = mainTotal(content);
  if (!total) {
    return element("p", { class: "muted" }, "The saved result has no totals.");
  }
  const values = total.totals.map((value) => (value === "inf" ? Infinity : value));
  const limited = limits.some(Number.isFinite);
  const over = values.filter((value, i) => value > limits[i]).length;
  const ranked = values.map((value, i) => ({ value, i, slack: limited ? limits[i] - value : -value }));
  ranked.sort((a, b) => a.slack - b.slack);
  const sure = total.confidence ? `, confidence ${total.confidence}` : "";
  const claim = `guarantee: ${total.guarantee} (${total.kind}${sure}), view: ${content.view}`;
  const words = !limited
    ? "No limit was given with the analysis; set one under Other budgets."
    : over
      ? `${over} of ${counted(values.length, "attribute")} ${over === 1 ? "exceeds its" : "exceed their"} limit.`
      : values.length === 1
        ? "The attribute is within its limit."
        : `All ${values.length} attributes are within their limit.`;
  const scale = Math.max(...values.filter(Number.isFinite), ...limits.filter(Number.isFinite), 1e-9);
  const rows = ranked.slice(0, MOST_TOTALS).map(({ value, i }) => totalRow(content, i, value, limits[i], scale));
  const rest = values.length - rows.length;
  return element(
    "div",
    {},
    element("h3", {}, "What all reports together tell, in nats"),
    element("p", { class: limited && over ? "warning" : "" }, words, " ", element("span", { class: "badge" }, claim)),
    element("div", { class: "rows" }, ...rows),
    rest > 0 ? element("p", { class: "muted small" }, `and ${rest} more with lower totals, see below`) : null,
  );
}

function totalRow(content, index, value, limit, scale) {
  const over = value > limit;
  const against = Number.isFinite(limit) ? `${nats(value)} of ${nats(limit)}` : `${nats(value)}`;
  const share = `${Math.min(100, (100 * value) / (1.05 * scale))}%`;
  const bar = element(
    "div",
    { class: "bar", "aria-hidden": "true" },
    element("div", { class: over ? "fill over" : "fill", style: { width: share } }),
    Number.isFinite(limit)
      ? element("div", { class: "mark", style: { left: `${(100 * limit) / (1.05 * scale)}%` } })
      : null,
  );
  const name = content.attributes[index].name;
  return element(
    "div",
    { class: "row three" },
    element("span", { class: "name", title: name }, name),
    bar,
    element("span", { class: over ? "value warning" : "value" }, over ? `${against}, exceeded` : against),
  );
}
