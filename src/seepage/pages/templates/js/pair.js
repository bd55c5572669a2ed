// One pair in both directions: curve over the grid of budgets, witness and distributions.

const CHART = { width: 360, height: 190, left: 38, right: 10, top: 12, bottom: 34 };

/** About five round numbers from 0 to a maximum. */
function axisTicks(maximum, about) {
  const rough = maximum / about;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((unit) => unit * power).find((unit) => unit >= rough * 0.999);
  return Array.from({ length: Math.floor(maximum / step + 1e-9) + 1 }, (_, i) => Number((i * step).toPrecision(12)));
}

/** Leakage against epsilon: the curve, the bound y = x, the saturation, and the current budget. */
function curveChart(label, curve, saturation, now) {
  const reach = curve[curve.length - 1][0] || 1;
  const top = Math.max(...curve.map(([, leakage]) => leakage).filter(Number.isFinite), 0.05) * 1.15;
  const x = (epsilon) => CHART.left + (epsilon / reach) * (CHART.width - CHART.left - CHART.right);
  const y = (leakage) => CHART.height - CHART.bottom - (Math.min(leakage, top) / top) * (CHART.height - CHART.top - CHART.bottom);
  const path = curve.map(([e, l], i) => `${i ? "L" : "M"}${x(e).toFixed(1)},${y(l).toFixed(1)}`).join("");
  const meets = Math.min(reach, top);
  const parts = [...chartGrid(x, y, reach, top), svg("path", { class: "diagonal", d: `M${x(0)},${y(0)}L${x(meets)},${y(meets)}` })];
  if (saturation <= top) {
    const below = y(saturation) < CHART.top + 12;
    parts.push(
      svg("path", { class: "saturation", d: `M${x(0)},${y(saturation)}H${x(reach)}` }),
      svg("text", { class: "tick", x: x(reach) - 2, y: y(saturation) + (below ? 12 : -4), "text-anchor": "end" }, `saturates at ${nats(saturation)}`),
    );
  }
  parts.push(svg("path", { class: "curve", d: path }));
  curve.slice(1).forEach(([e, l]) => parts.push(svg("circle", { class: "computed", cx: x(e), cy: y(l), r: 1.8 })));
  parts.push(svg("circle", { class: "now", cx: x(now[0]), cy: y(now[1]), r: 4.5 }));
  return svg("svg", { viewBox: `0 0 ${CHART.width} ${CHART.height}`, class: "chart", role: "img", "aria-label": label }, ...parts);
}

function chartGrid(x, y, reach, top) {
  const across = axisTicks(top, 4).map((tick) => [
    svg("path", { class: "grid", d: `M${x(0)},${y(tick)}H${x(reach)}` }),
    svg("text", { class: "tick", x: x(0) - 5, y: y(tick) + 4, "text-anchor": "end" }, String(tick)),
  ]);
  const along = axisTicks(reach, 5).map((tick) => svg("text", { class: "tick", x: x(tick), y: y(0) + 14, "text-anchor": "middle" }, String(tick)));
  const title = { class: "tick", x: (x(0) + x(reach)) / 2, y: CHART.height - 4, "text-anchor": "middle" };
  return [...across.flat(), ...along, svg("text", title, "epsilon of the source; leakage upwards, in nats")];
}

/** Show the selected pair in both directions. */
function showPair(app) {
  if (!app.pair) {
    byId("pair-title").textContent = "One attribute alone has no pairs";
    return;
  }
  const { target, source } = app.pair;
  byId("pair-title").textContent = arrow(app.names[source], app.names[target]);
  byId("pair-body").replaceChildren(
    direction(app, target, source, true),
    element("h3", {}, `The way back: ${arrow(app.names[target], app.names[source])}`),
    direction(app, source, target, false),
    element("p", {}, element("button", { type: "button", id: "swap", onclick: () => app.setPair(source, target) }, "Swap direction")),
  );
}

function direction(app, target, source, open) {
  const { grid, analysed, pairs } = app.content;
  const value = app.value(target, source);
  const epsilon = grid[app.at].epsilons[source];
  const pair = pairs[target * app.names.length + source];
  const saturation = pair ? pair.saturation ?? Infinity : value > 0 ? NaN : 0;
  const curve = [[0, 0], ...grid.map((point, at) => [point.epsilons[source], app.value(target, source, at)])];
  const label =
    `Leakage of ${isolated(app.names[source])} about ${isolated(app.names[target])} against epsilon: ` +
    `${nats(value)} nats at ${nats(epsilon)}` +
    (saturation === Infinity ? ", does not saturate" : saturation >= 0 ? `, saturates at ${nats(saturation)}` : "");
  const seen = pair ? witnessText(app, target, source, pair) : value > 0 ? "It is not among the leaks whose witnesses are on this page." : "The source tells nothing about the target.";
  return element(
    "div",
    { class: "direction" },
    element(
      "p",
      {},
      element("strong", { class: "big", "data-value": value }, nats(value)),
      ` nats${app.delta(target, source)} at epsilon ${nats(epsilon)}. `,
      element("span", { class: "witness" }, (pair && app.at !== analysed ? "As analysed: " : "") + seen),
    ),
    curveChart(label, curve, saturation, [epsilon, value]),
    saturation !== Infinity ? null : element("p", { class: "muted small" }, "No saturation: some source value excludes a target value."),
    pair ? distributions(app, target, source, pair, open) : null,
  );
}

/** The witness of the leakage at the analysed budgets, as a sentence. */
function witnessText(app, target, source, { likelier, other, likely, more }) {
  const { values } = app.content;
  const favoured = likely.map((u) => quoted(values[source][u])).join(", ") + (more ? ` and ${more} more` : "");
  return (
    `Seeing a report that favours ${shortened(app.names[source], 40)} ${favoured} makes ` +
    `${shortened(app.names[target], 40)} ${quoted(values[target][likelier])} ` +
    `${times(app.value(target, source, app.content.analysed))} likelier, against ${quoted(values[target][other])}, than before${app.delta(target, source, app.content.analysed)}.`
  );
}

/** The source's distribution under the two target values of the witness, as paired bars. */
function distributions(app, target, source, { likelier, other, rows, rest }, open) {
  const { values } = app.content;
  const maximum = Math.max(...rows.map(([, upper, lower]) => Math.max(upper, lower)), 1);
  return element(
    "details",
    { open, class: "distributions" },
    element("summary", {}, `${isolated(app.names[source])} given ${isolated(app.names[target])}`),
    element(
      "p",
      { class: "legend-line" },
      element("span", { class: "swatch first" }),
      ` ${shortened(values[target][likelier], 40)} `,
      element("span", { class: "swatch second" }),
      ` ${shortened(values[target][other], 40)} `,
      element("span", { class: "muted" }, "• favoured by the report"),
    ),
    ...rows.map(([u, upper, lower, favoured]) => distributionRow(values[source][u], upper, lower, maximum, favoured)),
    rest > 0 ? element("p", { class: "muted small" }, `and ${rest} values that differ less`) : null,
  );
}

/** One source value: its shares under the two target values, in ten-thousandths. */
function distributionRow(name, upper, lower, maximum, favoured) {
  const bar = (kind, share) => element("div", { class: `thin ${kind}`, style: { width: `${(100 * share) / maximum}%` } });
  const percent = (share) => (share > 0 && share < 10 ? "<0.1%" : `${(share / 100).toFixed(1)}%`);
  return element(
    "div",
    { class: "row three" },
    element("span", { class: "name", title: name }, favoured ? `• ${name}` : name),
    element("div", { class: "twobars", "aria-hidden": "true" }, bar("first", upper), bar("second", lower)),
    element("span", { class: "value small" }, `${percent(upper)} / ${percent(lower)}`),
  );
}
