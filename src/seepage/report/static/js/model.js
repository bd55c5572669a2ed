// The leakage of every pair at any budget, from the lines that the page carries.
//
// leakage(c) = max over a pair's lines of ln (1 + lambda A)/(1 + lambda B), lambda = e^c - 1, with c
// the contrast of the source's report.  The lines lie above the exact profile, never below.  Both
// sides of the ratio are taken times e^-c, for lambda itself overflows at large budgets; where B
// is 0, and e^-c may vanish, ln lambda A is c + ln A.

import { decodeNumbers } from "./bytes.js";
import { likelySets } from "./mechanisms.js";

/** All that the page computes leakages with. */
export class Model {
  constructor(content) {
    this.attributes = content.attributes;
    this.count = content.attributes.length;
    this.names = content.attributes.map((attribute) => attribute.name);
    this.sizes = content.attributes.map((attribute) => attribute.values.length);
    this.stores = new Map();
    for (const part of content.lines) this.addStore(part);
  }

  addStore(part) {
    const counts = decodeNumbers(part.counts, "<u2");
    const begins = new Uint32Array(counts.length + 1);
    for (let i = 0; i < counts.length; i++) begins[i + 1] = begins[i] + counts[i];
    const slots = new Int32Array(this.count).fill(-1);
    part.sources.forEach((source, slot) => {
      slots[source] = slot;
    });
    const values = Float64Array.from(decodeNumbers(part.values, "<f4"));
    this.stores.set(`${part.kind}-${part.size}`, { begins, slots, values });
  }

  /** The lines of a source's kind of likely sets: the nearest that is never below. */
  storeOf(source, sets) {
    const wanted = sets.kind === "subsets" && sets.size === 1 ? "singletons-1" : `${sets.kind}-${sets.size}`;
    const order = sets.kind === "singletons" ? [wanted] : [wanted, "all-1", "singletons-1"];
    const has = (key) => this.stores.has(key) && this.stores.get(key).slots[source] >= 0;
    const key = order.find(has);
    return key === undefined ? null : this.stores.get(key);
  }

  /** What a source whose report has these likely sets tells about a target, in nats. */
  leakage(target, source, sets) {
    if (target === source || sets.contrast <= 0) return 0;
    const store = this.storeOf(source, sets);
    return store ? this.along(store, target, source, sets.contrast) : 0;
  }

  along(store, target, source, contrast) {
    const cell = store.slots[source] * this.count + target;
    const least = Math.exp(-contrast);
    const rest = -Math.expm1(-contrast);
    let best = 0;
    let alone = 0;
    for (let line = store.begins[cell]; line < store.begins[cell + 1]; line++) {
      const high = store.values[2 * line];
      const low = store.values[2 * line + 1];
      const gain = (rest * (high - low)) / (least + rest * low);
      if (low === 0 && contrast > 1) alone = Math.max(alone, high);
      else if (gain > best) best = gain;
    }
    const unbounded = alone > 0 ? contrast + Math.log(least + rest * alone) : 0;
    return Math.min(contrast, Math.max(Math.log1p(best), unbounded));
  }

  /** Every leakage at the budgets of all: rows targets, columns sources. */
  matrix(epsilons, mechanisms, view) {
    const values = new Float64Array(this.count * this.count);
    for (let source = 0; source < this.count; source++) {
      const sets = this.sets(source, epsilons[source], mechanisms[source], view);
      const store = sets.contrast > 0 ? this.storeOf(source, sets) : null;
      if (!store) continue;
      for (let target = 0; target < this.count; target++) {
        if (target === source) continue;
        values[target * this.count + source] = this.along(store, target, source, sets.contrast);
      }
    }
    return values;
  }

  sets(source, epsilon, mechanism, view) {
    return likelySets(mechanism, view, this.sizes[source], epsilon);
  }

  /** What each attribute's own report says about it; a bound has epsilon whatever k. */
  direct(index, epsilon, mechanism, view) {
    return mechanism ? this.sets(index, epsilon, mechanism, view).contrast : epsilon;
  }

  /** Own report plus the leakage of every source: the total named `independent`. */
  totals(epsilons, mechanisms, view) {
    const matrix = this.matrix(epsilons, mechanisms, view);
    return epsilons.map((epsilon, target) => {
      const own = this.direct(target, epsilon, mechanisms[target], view);
      let others = 0;
      for (let source = 0; source < this.count; source++) others += matrix[target * this.count + source];
      return { own, others, total: own + others };
    });
  }
}
