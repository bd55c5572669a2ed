// What-if budgets: sliders, and the totals of the guarantee `independent`.

import { byId, counted, element, isolated, listed, nats } from "./dom.js";

/** The budgets section; the map uses the same budgets. */
export class BudgetSection {
  constructor(app) {
    this.app = app;
    this.rows = app.model.names.map((name, i) => this.makeRow(name, i));
    byId("budget-rows").append(...this.rows.map((row) => row.node));
    for (const id of ["all-budgets", "all-budgets-number"]) {
      byId(id).max = app.content.reach;
      byId(id).value = Math.max(...this.epsilons);
      byId(id).addEventListener("input", () => this.setAll(Number(byId(id).value)));
    }
    byId("limit").addEventListener("input", () => this.setLimit(Number(byId("limit").value)));
    byId("budgets-analysed").addEventListener("click", () => app.reset());
  }

  makeRow(name, i) {
    const { reach } = this.app.content;
    const own = element("div", { class: "fill" });
    const others = element("div", { class: "fill others" });
    const mark = element("div", { class: "mark" });
    const value = element("span", { class: "value" });
    const handler = (event) => this.setOne(i, Number(event.target.value));
    const shared = { min: 0, max: reach, step: 0.01, oninput: handler };
    const slider = element("input", { type: "range", "aria-label": `Budget of ${name}`, ...shared });
    const number = element("input", { type: "number", "aria-label": `Budget of ${name}, as a number`, ...shared });
    number.step = "any";
    const node = element(
      "div",
      { class: "row five" },
      element("span", { class: "name" }, name),
      slider,
      number,
      element("div", { class: "bar", "aria-hidden": "true" }, own, others, mark),
      value,
    );
    return { node, slider, number, own, others, mark, value };
  }

  get epsilons() {
    return this.app.state.epsilons;
  }

  set(epsilons) {
    this.app.setEpsilons(epsilons);
  }

  setAll(value) {
    const budget = this.clamped(value);
    this.set(this.epsilons.map(() => budget));
  }

  setOne(i, value) {
    this.set(this.epsilons.map((e, j) => (j === i ? this.clamped(value) : e)));
  }

  clamped(value) {
    return Math.min(Math.max(Number.isFinite(value) ? value : 0, 0), this.app.content.reach);
  }

  setLimit(value) {
    if (!(value > 0) || !Number.isFinite(value)) return;
    this.app.setLimits(this.epsilons.map(() => value));
  }

  /** Show the totals of the budgets, and the attribute with the least slack. */
  show() {
    const { model, state } = this.app;
    this.totals = model.totals(this.epsilons, state.mechanisms, "report");
    const finite = state.limits.filter(Number.isFinite);
    const scale = 1.05 * Math.max(...this.totals.map(({ total }) => total), ...finite, 1e-9);
    this.rows.forEach((row, i) => this.showRow(row, i, scale));
    const [first] = this.epsilons;
    if (this.epsilons.every((e) => e === first)) {
      byId("all-budgets").value = first;
      if (document.activeElement !== byId("all-budgets-number")) byId("all-budgets-number").value = first;
    }
    const same = finite.length && state.limits.every((limit) => limit === state.limits[0]);
    if (document.activeElement !== byId("limit")) byId("limit").value = same ? state.limits[0] : "";
    this.showBinding();
  }

  showRow(row, i, scale) {
    const { own, others, total } = this.totals[i];
    const limit = this.app.state.limits[i];
    const over = total > limit;
    row.slider.value = this.epsilons[i];
    if (document.activeElement !== row.number) row.number.value = this.epsilons[i];
    row.own.style.width = `${(100 * own) / scale}%`;
    row.others.style.left = `${(100 * own) / scale}%`;
    row.others.style.width = `${(100 * others) / scale}%`;
    row.own.classList.toggle("over", over);
    row.others.classList.toggle("over", over);
    row.mark.style.left = Number.isFinite(limit) ? `${(100 * limit) / scale}%` : "-10px";
    row.value.textContent = over ? `${nats(total)}, above ${nats(limit)}` : nats(total);
    row.value.classList.toggle("warning", over);
    row.value.dataset.total = total;
  }

  showBinding() {
    const { state, model } = this.app;
    const slack = this.totals.map(({ total }, i) => state.limits[i] - total);
    const tightest = slack.indexOf(Math.min(...slack));
    const over = model.names.filter((_, i) => slack[i] < 0);
    const { total } = this.totals[tightest];
    const binds = `${isolated(model.names[tightest])} binds: ${nats(total)} of ${nats(state.limits[tightest])} nats`;
    const text = over.length
      ? `${over.length} of ${counted(model.count, "assumed sum")} above the limit: ${listed(over, 5)}. That is no proof: an assumed sum neither certifies nor exceeds.`
      : `All assumed sums are below their limits, which certifies nothing. ${binds}.`;
    byId("binding").textContent = text;
  }
}
