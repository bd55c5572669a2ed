// The page: slider, map and pair as look-ups in leakages that were computed on a grid of budgets.

const ARROWS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
/** Leakages of the grid are integers, in millionths of a nat; infinity is null. */
const UNIT = 1e-6;

class App {
  constructor(content) {
    this.content = content;
    this.names = content.names;
    this.at = content.analysed;
    this.pair = content.pair;
    this.hovered = null;
    this.given = this.names.map((_, i) => i);
    this.matrices = new Map();
    this.canvas = byId("map-canvas");
    this.map = new HeatMap(this.canvas, this.names);
  }

  start() {
    const count = this.names.length;
    byId("epsilon").max = this.content.grid.length - 1;
    byId("epsilon").disabled = this.content.grid.length < 2;
    byId("map-controls").hidden = byId("map-figure").hidden = count < 2;
    this.canvas.setAttribute("aria-label", `Leakage of ${count} sources about ${count} targets, heat map`);
    document.querySelector("#legend .ramp").style.background = scaleGradient();
    this.listen();
    this.map.resize(byId("map-scroll").clientWidth);
    this.setBudgets(this.at);
    document.documentElement.dataset.ready = "yes";
  }

  listen() {
    byId("epsilon").addEventListener("input", (event) => this.setBudgets(Number(event.target.value)));
    byId("back").addEventListener("click", () => this.setBudgets(this.content.analysed));
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
    for (const button of document.querySelectorAll("[data-save]")) button.addEventListener("click", () => this.save(button));
  }

  /** All leakages at a point of the grid in nats, row-major: rows targets, columns sources. */
  matrix(at = this.at) {
    if (!this.matrices.has(at)) {
      const { values } = this.content.grid[at];
      this.matrices.set(at, Float64Array.from(values, (value) => (value === null ? Infinity : UNIT * value)));
    }
    return this.matrices.get(at);
  }

  value(target, source, at = this.at) {
    return this.matrix(at)[target * this.names.length + source];
  }

  /** The delta of a leakage in words, such as ", delta 1e-05"; "" for 0. */
  delta(target, source, at = this.at) {
    const { deltas } = this.content.grid[at];
    return deltas ? deltas[target * this.names.length + source] : "";
  }

  order() {
    return byId("order").value === "related" ? this.content.order : this.given;
  }

  /** Show the leakages of another point of the grid. */
  setBudgets(at) {
    const { analysed, grid } = this.content;
    this.at = at;
    byId("epsilon").value = at;
    const text = nats(grid[at].largest) + (at === analysed ? ", as analysed" : "");
    byId("epsilon-value").textContent = text;
    byId("epsilon").setAttribute("aria-valuetext", `epsilon ${text}`);
    byId("back").hidden = byId("whatif").hidden = at === analysed;
    document.querySelector("#legend .most").textContent = `${nats(grid[at].largest)} = epsilon (nats)`;
    this.redraw();
    showPair(this);
  }

  setPair(target, source) {
    this.pair = { target, source };
    this.hovered = null;
    this.redraw();
    this.reveal();
    showPair(this);
  }

  hover(pair) {
    const same = pair && this.hovered && pair.target === this.hovered.target && pair.source === this.hovered.source;
    if (same || (!pair && !this.hovered)) return;
    this.hovered = pair;
    this.redraw();
  }

  open(pair) {
    if (!pair) return;
    this.setPair(pair.target, pair.source);
    byId("pair-title").focus({ preventScroll: matchMedia("(min-width: 1100px)").matches });
  }

  key(event) {
    const move = ARROWS[event.key];
    if (event.key === "Escape") this.hover(null);
    if (!move && event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    if (!move) {
      this.open(this.hovered || this.pair);
      return;
    }
    this.hovered = this.moved(this.hovered || this.pair, move);
    this.redraw();
  }

  moved({ target, source }, [down, right]) {
    const order = this.order();
    const count = order.length;
    let i = order.indexOf(target);
    let j = order.indexOf(source);
    do {
      i = (i + down + count) % count;
      j = (j + right + count) % count;
    } while (i === j);
    return { target: order[i], source: order[j] };
  }

  fit() {
    const width = byId("map-scroll").clientWidth;
    if (Math.abs(width - (this.fittedWidth || 0)) < 2) return;
    this.fittedWidth = width;
    this.map.resize(width);
    this.redraw();
  }

  print(printing) {
    this.map.printing = printing;
    this.redraw();
  }

  /** Scroll the selected cell into view if the map is wider than its container. */
  reveal() {
    const box = byId("map-scroll");
    if (!this.pair || box.scrollWidth <= box.clientWidth) return;
    box.scrollLeft = this.map.label + (this.order().indexOf(this.pair.source) + 0.5) * this.map.cell - box.clientWidth / 2;
  }

  /** Redraw the map with the current state. */
  redraw() {
    const pair = this.hovered || this.pair;
    if (!pair) return;
    const { largest, epsilons } = this.content.grid[this.at];
    this.map.draw({ values: this.matrix(), order: this.order(), maximum: largest, selected: this.pair, hovered: this.hovered });
    const names = arrow(this.names[pair.source], this.names[pair.target]);
    const value = this.value(pair.target, pair.source).toFixed(4);
    const delta = this.delta(pair.target, pair.source);
    byId("map-readout").textContent = `${names}: ${value} nats${delta} at epsilon ${epsilons[pair.source].toFixed(2)}`;
    this.fillTable();
  }

  fillTable() {
    const container = byId("map-table").querySelector("div");
    if (!byId("map-table").open) {
      container.replaceChildren();
      return;
    }
    const order = this.order();
    const cell = (target, source) => (target === source ? "–" : this.value(target, source).toFixed(3) + this.delta(target, source));
    const rows = order.map((target) => [this.names[target], ...order.map((source) => cell(target, source))]);
    const head = ["target \\ source", ...order.map((source) => this.names[source])];
    container.replaceChildren(dataTable("Leakage in nats: rows targets, columns sources", head, rows));
  }

  /** Save a table of the analysis as CSV, or a picture of the page as SVG. */
  save({ dataset }) {
    const picture = () => new XMLSerializer().serializeToString(document.querySelector(`#${dataset.save} svg.picture`));
    const text = dataset.kind === "csv" ? this.content.csv[dataset.save] : picture();
    const type = dataset.kind === "csv" ? "text/csv" : "image/svg+xml";
    const data = (byId("title").textContent || "seepage").replace(/[^\p{L}\p{N}.-]+/gu, "-").slice(0, 40);
    const href = URL.createObjectURL(new Blob([text], { type }));
    const link = element("a", { href, download: `${data}-${dataset.save}.${dataset.kind}` });
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(href), 1000);
  }
}

const app = new App(JSON.parse(byId("content").textContent));
app.start();
window.seepage = app;
