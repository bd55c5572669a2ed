// The leakage of every pair at any budget, from the lines in the page.
//
// leakage(c) = max over a pair's lines of ln (1 + lambda A)/(1 + lambda B), lambda = e^c - 1, with c
// the contrast of the source's report.  The lines are never below the exact profile.  Numerator and
// denominator are multiplied by e^-c, because lambda overflows at large budgets; if B = 0 and c > 1,
// the logarithm is c + ln(e^-c + (1 - e^-c) A).

import { decodeNumbers } from "./bytes.js";
import { likelySets } from "./mechanisms.js";

/** Computes leakages from the lines of all pairs. */
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
    const starts = new Uint32Array(counts.length + 1);
    for (let i = 0; i < counts.length; i++) starts[i + 1] = starts[i] + counts[i];
    const slots = new Int32Array(this.count).fill(-1);
    part.sources.forEach((source, slot) => {
      slots[source] = slot;
    });
    const values = Float64Array.from(decodeNumbers(part.values, "<f4"));
    this.stores.set(`${part.kind}-${part.size}`, { starts, slots, values });
  }

  /** The lines of a source for its likely sets, or for a larger family that contains them. */
  storeOf(source, sets) {
    const own = sets.kind === "subsets" && sets.size === 1 ? "singletons-1" : `${sets.kind}-${sets.size}`;
    const order = sets.kind === "singletons" ? [own] : [own, "all-1", "singletons-1"];
    const has = (key) => this.stores.has(key) && this.stores.get(key).slots[source] >= 0;
    const key = order.find(has);
    return key === undefined ? null : this.stores.get(key);
  }

  /** The leakage about a target of a source with these likely sets, in nats. */
  leakage(target, source, sets) {
    if (target === source || sets.contrast <= 0) return 0;
    const store = this.storeOf(source, sets);
    return store ? this.along(store, target, source, sets.contrast) : 0;
  }

  along(store, target, source, contrast) {
    const cell = store.slots[source] * this.count + target;
    const small = Math.exp(-contrast);
    const rest = -Math.expm1(-contrast);
    let best = 0;
    let unboundedHigh = 0;
    for (let line = store.starts[cell]; line < store.starts[cell + 1]; line++) {
      const high = store.values[2 * line];
      const low = store.values[2 * line + 1];
      const gain = (rest * (high - low)) / (small + rest * low);
      if (low === 0 && contrast > 1) unboundedHigh = Math.max(unboundedHigh, high);
      else if (gain > best) best = gain;
    }
    const unbounded = unboundedHigh > 0 ? contrast + Math.log(small + rest * unboundedHigh) : 0;
    return Math.min(contrast, Math.max(Math.log1p(best), unbounded));
  }

  /** All leakages for given budgets, row-major: rows targets, columns sources. */
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

  /** The leakage of an attribute's own report about itself: its contrast, or epsilon for the bound. */
  direct(index, epsilon, mechanism, view) {
    return mechanism ? this.sets(index, epsilon, mechanism, view).contrast : epsilon;
  }

  /** Own report plus the leakage of every source: the guarantee `independent`. */
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
