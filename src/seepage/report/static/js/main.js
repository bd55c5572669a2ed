// The page: its state, and the sections that are redrawn when the state changes.

import { BudgetSection } from "./budgets.js";
import { byId, counted, element, nats } from "./dom.js";
import { showGraph, defaultThreshold } from "./graph.js";
import { MapSection } from "./mapsection.js";
import { MECHANISM_NAMES } from "./mechanisms.js";
import { showMethods } from "./methods.js";
import { Model } from "./model.js";
import { showPair } from "./pair.js";
import { showPeople } from "./people.js";
import { showTotals } from "./totals.js";
import { settingText, showVerdict } from "./verdict.js";
import { Tables } from "./witness.js";

const DEFERRED_MS = 120;

class App {
  constructor(content) {
    this.content = content;
    this.model = new Model(content);
    this.tables = new Tables(content);
    this.state = firstState(content, this.model);
    this.first = { ...this.state };
    this.state.matrix = this.matrix();
    this.state.pair = firstPair(content, this.model) || strongestPair(this.state.matrix, this.model.count);
  }

  start() {
    byId("title").textContent = this.content.name || "What attributes give away";
    byId("setting").textContent = `${this.content.counted}, ${counted(this.model.count, "attribute")}; ${settingText(this.content)}`;
    byId("caution").hidden = !this.content.caution;
    byId("caution").textContent = this.content.caution ? `Leakages on this page, and all totals but worst, are ${this.content.caution}.` : "";
    byId("holds").textContent = holdsText(this.content);
    showVerdict(this.content, this.state.given, false);
    showPeople(this.content);
    byId("whatif-back").addEventListener("click", () => this.reset());
    this.map = new MapSection(this);
    this.budgets = new BudgetSection(this);
    this.map.redraw();
    showPair(this);
    this.budgets.show();
    requestAnimationFrame(() => setTimeout(() => this.startBelow()));
  }

  startBelow() {
    byId("graph-part").hidden = this.model.count < 2;
    const threshold = byId("graph-least");
    threshold.max = Math.max(...this.state.epsilons, 0.01);
    threshold.value = defaultThreshold(this.state.matrix, this.model.count);
    threshold.addEventListener("input", () => this.showGraph());
    showTotals(this.content, this.state.given);
    this.showGraph();
    this.showWhatIf();
    showMethods(this.content);
    document.documentElement.dataset.ready = "yes";
  }

  showGraph() {
    byId("graph-least").max = Math.max(...this.state.epsilons, 0.01);
    const threshold = Number(byId("graph-least").value);
    byId("graph-least-value").textContent = nats(threshold);
    showGraph(this, threshold);
  }

  matrix() {
    return this.model.matrix(this.state.epsilons, this.state.mechanisms, this.state.view);
  }

  setEpsilon(value) {
    if (!Number.isFinite(value)) return;
    const epsilon = Math.min(Math.max(value, 0), this.content.reach);
    this.state.epsilons = this.state.epsilons.map(() => epsilon);
    this.changed();
  }

  setEpsilons(epsilons) {
    this.state.epsilons = epsilons;
    this.changed();
    this.budgets.show();
  }

  setMechanism(name) {
    this.state.mechanisms = name === "analysed" ? this.state.analysed : this.model.names.map(() => name || null);
    this.changed();
    this.budgets.show();
  }

  setView(view) {
    this.state.view = view;
    this.changed();
  }

  setPair(target, source) {
    this.state.pair = { target, source };
    this.map.hovered = null;
    this.map.redraw();
    this.map.reveal();
    showPair(this);
  }

  setLimits(limits) {
    this.state.limits = limits;
    this.state.given = limits;
    this.budgets.show();
    showVerdict(this.content, limits, limits.some((limit, i) => limit !== this.first.given[i]));
    showTotals(this.content, limits);
    this.showWhatIf();
  }

  /** Restore budgets, mechanisms, view and limits of the analysis. */
  reset() {
    const { epsilons, mechanisms, view, limits, given } = this.first;
    Object.assign(this.state, { epsilons: epsilons.slice(), mechanisms, view, limits, given });
    this.map.setControls();
    this.changed();
    this.budgets.show();
    showVerdict(this.content, given, false);
    showTotals(this.content, given);
    this.showWhatIf();
  }

  /** Show which settings differ from the analysis. */
  showWhatIf() {
    const { state, first } = this;
    const same = (key) => state[key].every((item, i) => item === first[key][i]);
    const budgets = !same("epsilons");
    const how = !same("mechanisms") || state.view !== first.view;
    const limits = !same("given");
    byId("whatif").hidden = !(budgets || how || limits);
    const moved = [budgets ? "budgets" : "", how ? "mechanism or view" : "", limits ? "limits" : ""].filter((part) => part);
    const parts = [];
    if (budgets || how) parts.push("The map, the pair, the graph and the sums under What if show these; the verdict, what people experience and the certified totals stay as analysed.");
    if (limits) parts.push("Limits are compared with the totals as analysed.");
    byId("whatif-text").replaceChildren(element("strong", {}, `What if: other ${moved.join(", ")}. `), parts.join(" "));
    document.documentElement.classList.toggle("asking", budgets || how || limits);
  }

  /** After a change of epsilon, mechanism or view: redraw map and pair now, the graph after a pause. */
  changed() {
    this.state.matrix = this.matrix();
    this.map.redraw();
    showPair(this);
    clearTimeout(this.later);
    this.later = setTimeout(() => {
      this.showGraph();
      this.budgets.show();
    }, DEFERRED_MS);
    this.showWhatIf();
  }
}

function firstState(content, model) {
  const known = content.mechanism.map((name) => (name !== null && name in MECHANISM_NAMES ? name : null));
  const unknown = content.mechanism.filter((name) => name !== null && !(name in MECHANISM_NAMES));
  const given = content.limit.map((limit) => (limit === null || limit === "inf" ? Infinity : limit));
  const epsilons = content.epsilon.slice();
  const largest = Math.max(...model.totals(epsilons, known, "report").map(({ total }) => total), 0.01);
  const limits = given.some(Number.isFinite) ? given : given.map(() => Math.ceil(largest * 100) / 100);
  return {
    epsilons,
    mechanisms: known,
    analysed: known,
    mixed: known.some((name) => name !== known[0]),
    view: content.view,
    limits,
    given,
    note: unknown.length
      ? `The analysed mechanism ${unknown[0]} has no curve on this page: the map starts with the bound. The verdict above is as analysed.`
      : "",
  };
}

/** Whether the page contains pair counts, for those who share it. */
function holdsText(content) {
  if (content.tables) return "This page holds the pair counts of the data: share it as you would share them.";
  const why = content.withheld ? "left out" : "too many to carry";
  return `This page holds no pair counts (${why}): leakages, totals and counts of single values only.`;
}

/** The pair of the strongest leak, null if there is none. */
function firstPair(content, model) {
  const [leak] = content.leaks || [];
  return leak ? { target: model.names.indexOf(leak.target), source: model.names.indexOf(leak.source) } : null;
}

function strongestPair(matrix, count) {
  if (count < 2) return null;
  let best = 1;
  matrix.forEach((value, cell) => {
    if (value > matrix[best]) best = cell;
  });
  return { target: Math.floor(best / count), source: best % count };
}

const app = new App(JSON.parse(byId("content").textContent));
app.start();
window.seepage = app;
