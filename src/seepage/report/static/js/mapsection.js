// The map and its controls: epsilon, mechanism, view, order; hover, keys and the table.

import { scaleGradient } from "./colour.js";
import { arrow, byId, dataTable, element, nats } from "./dom.js";
import { HeatMap } from "./heatmap.js";
import { MECHANISM_NAMES } from "./mechanisms.js";

const ARROWS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

/** The map section: controls change the state of the app, which redraws the map. */
export class MapSection {
  constructor(app) {
    this.app = app;
    this.canvas = byId("map-canvas");
    this.map = new HeatMap(this.canvas, app.model.names);
    this.hovered = null;
    this.setControls();
    byId("map-figure").hidden = app.model.count < 2;
    this.listen();
    this.map.resize(byId("map-scroll").clientWidth);
  }

  setControls() {
    const { content, state } = this.app;
    const slider = byId("epsilon");
    slider.max = content.reach;
    byId("epsilon-number").max = content.reach;
    const options = [["", "any mechanism (the bound)"], ...Object.entries(MECHANISM_NAMES)];
    if (state.mixed) options.unshift(["analysed", "as analysed, one each"]);
    byId("mechanism").replaceChildren(...options.map(([value, label]) => element("option", { value }, label)));
    byId("mechanism").value = state.mixed ? "analysed" : state.mechanisms[0] || "";
    byId("view").value = state.view;
    const note = byId("map-note");
    note.textContent = state.note;
    note.hidden = !state.note;
  }

  listen() {
    const { app } = this;
    const epsilon = (input) => input.addEventListener("input", () => app.setEpsilon(Number(input.value)));
    epsilon(byId("epsilon"));
    epsilon(byId("epsilon-number"));
    byId("mechanism").addEventListener("change", (event) => app.setMechanism(event.target.value));
    byId("view").addEventListener("change", (event) => app.setView(event.target.value));
    byId("order").addEventListener("change", () => this.redraw());
    byId("map-controls").addEventListener("submit", (event) => event.preventDefault());
    this.canvas.addEventListener("pointermove", (event) => this.hover(this.map.at(event)));
    this.canvas.addEventListener("pointerleave", () => this.hover(null));
    this.canvas.addEventListener("click", (event) => this.open(this.map.at(event)));
    this.canvas.addEventListener("keydown", (event) => this.key(event));
    byId("map-table").addEventListener("toggle", () => this.fillTable());
    new ResizeObserver(() => this.fit()).observe(byId("map-scroll"));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.redraw());
    addEventListener("beforeprint", () => this.print(true));
    addEventListener("afterprint", () => this.print(false));
  }

  print(printing) {
    this.map.printing = printing;
    this.redraw();
  }

  fit() {
    const width = byId("map-scroll").clientWidth;
    if (Math.abs(width - (this.fittedWidth || 0)) < 2) return;
    this.fittedWidth = width;
    this.map.resize(width);
    this.redraw();
    this.reveal();
  }

  order() {
    const { content, model } = this.app;
    this.given ||= model.names.map((_, i) => i);
    return byId("order").value === "related" ? content.order : this.given;
  }

  hover(pair) {
    const same = pair && this.hovered && pair.target === this.hovered.target && pair.source === this.hovered.source;
    if (same || (!pair && !this.hovered)) return;
    this.hovered = pair;
    this.redraw();
  }

  open(pair) {
    if (!pair) return;
    this.app.setPair(pair.target, pair.source);
    byId("pair-title").focus({ preventScroll: matchMedia("(min-width: 1100px)").matches });
  }

  key(event) {
    const { state } = this.app;
    const move = ARROWS[event.key];
    if (move) {
      event.preventDefault();
      this.hovered = this.moved(this.hovered || state.pair, move);
      this.redraw();
    } else if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      this.open(this.hovered || state.pair);
    } else if (event.key === "Escape") {
      this.hover(null);
    }
  }

  moved({ target, source }, [down, right]) {
    const order = this.order();
    const count = order.length;
    let i = order.indexOf(target);
    let j = order.indexOf(source);
    do {
      i = (i + down + count) % count;
      j = (j + right + count) % count;
    } while (i === j && count > 1 && (down || right));
    return { target: order[i], source: order[j] };
  }

  /** Scroll the selected cell into view if the map is wider than its container. */
  reveal() {
    const { pair } = this.app.state;
    const box = byId("map-scroll");
    if (!pair || box.scrollWidth <= box.clientWidth) return;
    box.scrollLeft = this.map.label + (this.order().indexOf(pair.source) + 0.5) * this.map.cell - box.clientWidth / 2;
  }

  /** Redraw the map with the current state. */
  redraw() {
    const { state, model } = this.app;
    const maximum = Math.max(...state.epsilons);
    if (model.count > 1) {
      this.map.draw({ values: state.matrix, order: this.order(), maximum, selected: state.pair, hovered: this.hovered });
    }
    byId("epsilon").value = maximum;
    if (document.activeElement !== byId("epsilon-number")) byId("epsilon-number").value = Number(maximum.toFixed(4));
    byId("epsilon").setAttribute("aria-valuetext", `epsilon ${maximum.toFixed(2)}`);
    this.showLegend(maximum);
    this.showReadout();
    if (byId("map-table").open) this.fillTable();
  }

  showLegend(maximum) {
    const legend = byId("legend");
    if (!legend.firstChild) {
      legend.append(
        element("span", {}, "0"),
        element("span", { class: "ramp", style: { background: scaleGradient() } }),
        element("span", { class: "most" }),
      );
    }
    legend.lastChild.textContent = `${nats(maximum)} = epsilon (nats)`;
  }

  showReadout() {
    const { state, model } = this.app;
    const pair = this.hovered || state.pair;
    const label = `Leakage of ${model.count} sources about ${model.count} targets, heat map`;
    this.canvas.setAttribute("aria-label", label);
    if (!pair) return;
    const value = state.matrix[pair.target * model.count + pair.source];
    byId("map-readout").textContent =
      `${arrow(model.names[pair.source], model.names[pair.target])}: ${value.toFixed(4)} nats ` +
      `at epsilon ${state.epsilons[pair.source].toFixed(2)}`;
  }

  fillTable() {
    const { state, model } = this.app;
    const order = this.order();
    const container = byId("map-table").querySelector("div");
    if (!byId("map-table").open) {
      container.replaceChildren();
      return;
    }
    const rows = order.map((target) => [
      model.names[target],
      ...order.map((source) => (target === source ? "–" : state.matrix[target * model.count + source].toFixed(3))),
    ]);
    const head = ["target \\ source", ...order.map((source) => model.names[source])];
    container.replaceChildren(dataTable("Leakage in nats: rows targets, columns sources", head, rows));
  }
}
