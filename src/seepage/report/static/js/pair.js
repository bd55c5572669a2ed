// One pair in both directions: curve, witness and distributions.

import { curveChart } from "./axes.js";
import { correlationOf } from "./correlation.js";
import { arrow, byId, dataTable, element, isolated, listed, nats, quoted, shortened, times } from "./dom.js";
import { findWitness, saturationOf } from "./witness.js";

const CURVE_POINTS = 120;
const MAX_VALUES = 10;
const LARGE_CHANNEL = 3e7;

/** Show the selected pair in both directions. */
export function showPair(app) {
  const { state, model, tables } = app;
  if (!state.pair) {
    byId("pair-title").textContent = "One attribute alone has no pairs";
    return;
  }
  const { target, source } = state.pair;
  byId("pair-title").textContent = arrow(model.names[source], model.names[target]);
  const swap = element(
    "button",
    { type: "button", id: "swap", onclick: () => app.setPair(source, target) },
    "Swap direction",
  );
  byId("pair-body").replaceChildren(
    direction(app, target, source, true),
    tables.counts ? correlations(app, target, source) : element("p", { class: "note" }, TOO_LARGE),
    element("h3", {}, `The way back: ${arrow(model.names[target], model.names[source])}`),
    direction(app, source, target, false),
    element("p", {}, swap),
  );
}

const TOO_LARGE = "The table has too many cells for this page to carry them: distributions are left out.";

function direction(app, target, source, wide) {
  const { state, model, tables, content } = app;
  const mechanism = state.mechanisms[source];
  const sets = model.sets(source, state.epsilons[source], mechanism, state.view);
  const value = model.leakage(target, source, sets);
  const channel = tables.counts ? tables.channel(target, source) : null;
  const witness = channel && searchable(channel) ? findWitness(channel, sets) : null;
  const saturation = channel ? saturationOf(channel) : Infinity;
  const curve = Array.from({ length: CURVE_POINTS + 1 }, (_, i) => {
    const epsilon = (content.reach * i) / CURVE_POINTS;
    return [epsilon, model.leakage(target, source, model.sets(source, epsilon, mechanism, state.view))];
  });
  const label =
    `Leakage of ${isolated(model.names[source])} about ${isolated(model.names[target])} against epsilon: ` +
    `${nats(value)} nats at ${nats(state.epsilons[source])}, ` +
    (Number.isFinite(saturation) ? `saturates at ${nats(saturation)}` : "does not saturate");
  const now = [state.epsilons[source], value];
  return element(
    "div",
    { class: "direction" },
    element(
      "p",
      {},
      element("strong", { class: "big", "data-value": value }, nats(value)),
      ` nats of at most ${nats(sets.contrast)}. `,
      element("span", { class: "witness" }, witnessText(app, target, source, witness)),
    ),
    curveChart({ label, curve, reach: content.reach, saturation, now }),
    Number.isFinite(saturation)
      ? null
      : element("p", { class: "muted small" }, "No saturation: some source value excludes a target value."),
    witness ? distributions(app, target, source, channel, witness, wide) : null,
  );
}

function searchable(channel) {
  return channel.length ** 2 * channel.find((row) => row).length < LARGE_CHANNEL;
}

function witnessText(app, target, source, witness) {
  if (!witness) return "The source tells nothing about the target.";
  const { attributes } = app.content;
  const favoured = witness.likely.map((u) => quoted(attributes[source].values[u]));
  const value = (x) => quoted(attributes[target].values[x]);
  const name = (index) => shortened(attributes[index].name, 40);
  return (
    `Seeing a report that favours ${name(source)} ${listed(favoured, 4)} makes ` +
    `${name(target)} ${value(witness.likelier)} ` +
    `${times(Math.log(witness.ratio))} likelier, against ${value(witness.other)}, than before.`
  );
}

/** The source's distribution under the two target values of the witness, as paired bars. */
function distributions(app, target, source, channel, witness, open) {
  const { attributes } = app.content;
  const [upper, lower] = [channel[witness.likelier], channel[witness.other]];
  const order = upper.map((_, u) => u);
  order.sort((u, v) => Math.abs(upper[v] - lower[v]) - Math.abs(upper[u] - lower[u]));
  const shown = order.slice(0, MAX_VALUES);
  const maximum = Math.max(...shown.map((u) => Math.max(upper[u], lower[u])), 1e-9);
  const names = [witness.likelier, witness.other].map((x) => attributes[target].values[x]);
  const rows = shown.map((u) => distributionRow(attributes[source].values[u], upper[u], lower[u], maximum, witness.likely.includes(u)));
  const rest = order.length - shown.length;
  return element(
    "details",
    { open, class: "distributions" },
    element("summary", {}, `${isolated(app.model.names[source])} given ${isolated(app.model.names[target])}`),
    element(
      "p",
      { class: "legend-line" },
      element("span", { class: "swatch first" }),
      ` ${shortened(names[0], 40)} `,
      element("span", { class: "swatch second" }),
      ` ${shortened(names[1], 40)} `,
      element("span", { class: "muted" }, "• favoured by the report"),
    ),
    ...rows,
    rest > 0 ? element("p", { class: "muted small" }, `and ${rest} values that differ less`) : null,
  );
}

function distributionRow(name, upper, lower, maximum, favoured) {
  const bar = (kind, share) =>
    element("div", { class: `thin ${kind}`, style: { width: `${(100 * share) / maximum}%` } });
  const percent = (share) => (share > 0 && share < 0.001 ? "<0.1%" : `${(100 * share).toFixed(1)}%`);
  return element(
    "div",
    { class: "row three" },
    element("span", { class: "name", title: name }, favoured ? `• ${name}` : name),
    element("div", { class: "twobars", "aria-hidden": "true" }, bar("first", upper), bar("second", lower)),
    element("span", { class: "value small" }, `${percent(upper)} / ${percent(lower)}`),
  );
}

function correlations(app, target, source) {
  const measures = correlationOf(app.tables.table(target, source));
  return dataTable(
    "Conventional correlation, the same both ways",
    ["measure", "value"],
    [
      ["MI (nats)", measures.mi.toFixed(4)],
      ["NMI", measures.nmi.toFixed(4)],
      ["PCC of codes", measures.pcc.toFixed(4)],
    ],
  );
}
