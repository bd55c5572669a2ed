// One pair: its channel, the witness of its leakage, and the saturation of the leakage.

import { decodeNumbers } from "./bytes.js";

/** The pair counts of the page, null if it has none. */
export class Tables {
  constructor(content) {
    this.sizes = content.attributes.map((attribute) => attribute.values.length);
    this.marginals = content.attributes.map((attribute) => attribute.marginal);
    this.smoothing = content.smoothing || {};
    this.counts = content.tables ? decodeNumbers(content.tables.values, content.tables.type) : null;
    this.starts = new Map();
    let start = 0;
    for (let a = 0; a < this.sizes.length; a++) {
      for (let b = a + 1; b < this.sizes.length; b++) {
        this.starts.set(a * this.sizes.length + b, start);
        start += this.sizes[a] * this.sizes[b];
      }
    }
  }

  /** The counts of two attributes: values of the first by values of the second. */
  table(rows, columns) {
    const [low, high] = rows < columns ? [rows, columns] : [columns, rows];
    const start = this.starts.get(low * this.sizes.length + high);
    const width = this.sizes[high];
    const at = (i, j) => this.counts[start + (rows < columns ? i * width + j : j * width + i)];
    return Array.from({ length: this.sizes[rows] }, (_, i) =>
      Array.from({ length: this.sizes[columns] }, (_unused, j) => at(i, j)),
    );
  }

  /** P(source given target) with the smoothing of the analysis; null for values never seen. */
  channel(target, source) {
    const floor = this.smoothing.min_count || 0;
    const extra = this.smoothing.prior || 0;
    return this.table(target, source).map((row, value) => {
      if (!this.marginals[target][value]) return null;
      const cells = row.map((cell) => Math.max(cell, floor) + extra);
      const sum = cells.reduce((a, b) => a + b, 0);
      return cells.map((cell) => cell / sum);
    });
  }
}

/** The two target values and the likely source values that attain a channel's leakage. */
export function findWitness(channel, sets) {
  const rows = channel.map((_, i) => i).filter((i) => channel[i]);
  let best = { ratio: 1, likelier: -1, other: -1, likely: [] };
  for (;;) {
    const candidate = bestSet(channel, rows, best.ratio, sets);
    if (!candidate) return best.likelier < 0 ? null : best;
    const ratio = ratioOf(channel, candidate, sets.contrast);
    if (!(ratio > best.ratio * (1 + 1e-14))) return best.likelier < 0 ? null : best;
    best = { ratio, ...candidate };
  }
}

function ratioOf(channel, candidate, contrast) {
  const likelihood = (row) =>
    Math.exp(-contrast) - Math.expm1(-contrast) * candidate.likely.reduce((total, u) => total + channel[row][u], 0);
  return likelihood(candidate.likelier) / likelihood(candidate.other);
}

function bestSet(channel, rows, ratio, sets) {
  let best = null;
  let maximum = 0;
  for (const likelier of rows) {
    for (const other of rows) {
      if (likelier === other) continue;
      const [gain, likely] = gainOf(channel[likelier], channel[other], ratio, sets);
      if (gain > maximum) {
        maximum = gain;
        best = { likelier, other, likely };
      }
    }
  }
  return best;
}

function gainOf(upper, lower, ratio, sets) {
  const scores = upper.map((share, u) => share - ratio * lower[u]);
  let chosen = scores.map((_, u) => u);
  if (sets.kind === "all") {
    chosen = chosen.filter((u) => scores[u] > 0);
  } else {
    chosen.sort((u, v) => scores[v] - scores[u]);
    chosen = chosen.slice(0, sets.kind === "singletons" ? 1 : sets.size);
  }
  return [chosen.reduce((total, u) => total + scores[u], 0), chosen];
}

/** The limit of the leakage for epsilon to infinity: max ln G[x,u]/G[x',u]. */
export function saturationOf(channel) {
  const rows = channel.filter((row) => row);
  let maximum = 0;
  for (let u = 0; u < rows[0].length; u++) {
    const column = rows.map((row) => row[u]);
    const high = Math.max(...column);
    if (high > 0) maximum = Math.max(maximum, Math.log(high / Math.min(...column)));
  }
  return maximum;
}
