// Round numbers for axes, and a small line chart.

import { nats, svg } from "./dom.js";

/** About five round numbers from 0 to a maximum. */
export function axisTicks(maximum, about = 5) {
  if (!(maximum > 0)) return [0];
  const rough = maximum / about;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((unit) => unit * power).find((unit) => unit >= rough * 0.999);
  const count = Math.floor(maximum / step + 1e-9);
  return Array.from({ length: count + 1 }, (_, i) => Number((i * step).toPrecision(12)));
}

const CHART = { width: 360, height: 190, left: 38, right: 10, top: 12, bottom: 34 };

/** Leakage against epsilon: the curve, the bound y = x, the saturation, and the current budget. */
export function curveChart({ label, curve, reach, saturation, now }) {
  const top = Math.max(...curve.map(([, leakage]) => leakage), 0.05) * 1.15;
  const x = (epsilon) => CHART.left + (epsilon / reach) * (CHART.width - CHART.left - CHART.right);
  const y = (leakage) => CHART.height - CHART.bottom - (leakage / top) * (CHART.height - CHART.top - CHART.bottom);
  const path = curve.map(([e, l], i) => `${i ? "L" : "M"}${x(e).toFixed(1)},${y(l).toFixed(1)}`).join("");
  const parts = [...chartGrid(x, y, reach, top)];
  const meets = Math.min(reach, top);
  parts.push(svg("path", { class: "limit-line", d: `M${x(0)},${y(0)}L${x(meets)},${y(meets)}` }));
  if (saturation <= top) {
    parts.push(svg("path", { class: "saturation", d: `M${x(0)},${y(saturation)}H${x(reach)}` }));
    const below = y(saturation) < CHART.top + 12;
    parts.push(
      svg(
        "text",
        { class: "tick", x: x(reach) - 2, y: y(saturation) + (below ? 12 : -4), "text-anchor": "end" },
        `saturates at ${nats(saturation)}`,
      ),
    );
  }
  parts.push(svg("path", { class: "curve", d: path }));
  parts.push(svg("circle", { class: "now", cx: x(now[0]), cy: y(now[1]), r: 4.5 }));
  const box = `0 0 ${CHART.width} ${CHART.height}`;
  return svg("svg", { viewBox: box, class: "chart", role: "img", "aria-label": label }, ...parts);
}

function chartGrid(x, y, reach, top) {
  const across = axisTicks(top, 4).map((tick) => [
    svg("path", { class: "grid", d: `M${x(0)},${y(tick)}H${x(reach)}` }),
    svg("text", { class: "tick", x: x(0) - 5, y: y(tick) + 4, "text-anchor": "end" }, String(tick)),
  ]);
  const along = axisTicks(reach, 5).map((tick) =>
    svg("text", { class: "tick", x: x(tick), y: y(0) + 14, "text-anchor": "middle" }, String(tick)),
  );
  const title = svg(
    "text",
    { class: "tick", x: (x(0) + x(reach)) / 2, y: CHART.height - 4, "text-anchor": "middle" },
    "epsilon of the source; leakage upwards, in nats",
  );
  return [...across.flat(), ...along, title];
}
