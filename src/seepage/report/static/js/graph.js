// The dependency graph: attributes on a circle, arrows whose width is the leakage.

import { arrow, byId, nats, shortened, svg } from "./dom.js";

const MAX_ARROWS = 400;
const SIDE = 800;
const WIDE_LETTERS = /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\uff00-\uff60]/;

/** The threshold with about three arrows per attribute. */
export function defaultThreshold(matrix, count) {
  const values = Array.from(matrix).sort((a, b) => b - a);
  return values[Math.min(values.length - 1, Math.max(1, 3 * count))] || 0;
}

/** Draw the arrows of leakages above a threshold. */
export function showGraph(app, threshold) {
  const { state, model, content } = app;
  const radius = SIDE / 2 - 150;
  const positions = new Map();
  content.order.forEach((index, i) => {
    const angle = (2 * Math.PI * i) / model.count - Math.PI / 2;
    positions.set(index, { x: SIDE / 2 + radius * Math.cos(angle), y: SIDE / 2 + radius * Math.sin(angle), angle });
  });
  const arrows = strongestArrows(state.matrix, model.count, threshold);
  const maximum = Math.max(...state.epsilons, 1e-9);
  const label = `Graph of ${model.count} attributes with ${arrows.length} arrows of at least ${nats(threshold)} nats`;
  const tipSize = model.count > 90 ? 5 : 9;
  const tip = svg(
    "marker",
    { id: "tip", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: tipSize, markerHeight: tipSize, markerUnits: "userSpaceOnUse", orient: "auto" },
    svg("path", { class: "tip", d: "M0,0L8,4L0,8Z" }),
  );
  byId("graph").replaceChildren(
    svg(
      "svg",
      { viewBox: `0 0 ${SIDE} ${SIDE}`, class: "graph", role: "img", "aria-label": label },
      svg("defs", {}, tip),
      ...arrows.reverse().map((leak) => arrowOf(leak, positions, maximum, model)),
      ...content.order.map((index) => nodeOf(model, index, positions.get(index))),
    ),
  );
}

function strongestArrows(matrix, count, threshold) {
  const arrows = [];
  for (let target = 0; target < count; target++) {
    for (let source = 0; source < count; source++) {
      const value = matrix[target * count + source];
      if (source !== target && value > 0 && value >= threshold) arrows.push({ target, source, value });
    }
  }
  return arrows.sort((a, b) => b.value - a.value).slice(0, MAX_ARROWS);
}

/** A curve bent towards the centre and to its right, so that the two directions do not overlap. */
function arrowOf({ target, source, value }, positions, maximum, model) {
  const [from, to] = [positions.get(source), positions.get(target)];
  const length = Math.hypot(to.x - from.x, to.y - from.y) || 1;
  const bend = Math.min(22, 0.14 * length);
  const along = { x: (to.x - from.x) / length, y: (to.y - from.y) / length };
  const pull = 0.1 + 0.4 * Math.min(1, length / (SIDE / 2));
  const inward = (a, b) => (1 - pull) * ((a + b) / 2) + pull * (SIDE / 2);
  const control = { x: inward(from.x, to.x) - along.y * bend, y: inward(from.y, to.y) + along.x * bend };
  const share = Math.min(1, value / maximum);
  const last = Math.hypot(to.x - control.x, to.y - control.y) || 1;
  const end = { x: to.x - (6 * (to.x - control.x)) / last, y: to.y - (6 * (to.y - control.y)) / last };
  return svg(
    "path",
    {
      class: "arrow",
      d: `M${from.x.toFixed(1)},${from.y.toFixed(1)}Q${control.x.toFixed(1)},${control.y.toFixed(1)} ${end.x.toFixed(1)},${end.y.toFixed(1)}`,
      "stroke-width": (0.4 + 5 * share).toFixed(2),
      "stroke-opacity": (0.2 + 0.6 * share).toFixed(2),
      "marker-end": "url(#tip)",
    },
    svg("title", {}, `${arrow(model.names[source], model.names[target])}: ${nats(value)} nats`),
  );
}

function nodeOf(model, index, { x, y, angle }) {
  const left = Math.cos(angle) < -1e-6;
  const turned = (angle * 180) / Math.PI + (left ? 180 : 0);
  const crowded = model.count > 90;
  return svg(
    "g",
    {},
    svg("circle", { class: "node", cx: x, cy: y, r: crowded ? 2 : 4 }),
    svg(
      "text",
      {
        class: crowded ? "label crowded" : "label",
        x: left ? -10 : 10,
        "text-anchor": left ? "end" : "start",
        "dominant-baseline": "central",
        transform: `translate(${x},${y}) rotate(${turned})`,
      },
      shortened(model.names[index], WIDE_LETTERS.test(model.names[index]) ? 9 : 16),
      svg("title", {}, model.names[index]),
    ),
  );
}
