// Budgets that keep every total within its limit, under the sum of leakages (`independent`).
//
// The totals come from lines that are never below the exact leakage, and budgets are rounded down:
// what is found here also keeps the limits in Python.

import { reportVariance } from "./mechanisms.js";

const BUDGET_STEP = 1e-6;
const BUDGET_GRID = 72;
const DUAL_ROUNDS = 260;

/** Round a budget down to what a plan holds; below a ten-thousandth nothing is collected. */
export function budgetDown(value) {
  const rounded = Math.floor(value / BUDGET_STEP + 1e-9) * BUDGET_STEP;
  return rounded < 1e-4 ? 0 : Number(Math.min(rounded, value).toFixed(6));
}

/** Whether every total is within its limit; an infinite limit is none. */
export function withinLimits(model, epsilons, mechanisms, limits) {
  const totals = model.totals(epsilons, mechanisms, "report");
  return totals.every(({ total }, i) => total <= limits[i]);
}

/** The largest share in [0, 1] that passes a test which holds at 0. */
function largestShare(passes) {
  if (passes(1)) return 1;
  let low = 0;
  let high = 1;
  for (let step = 0; step < 50; step++) {
    const middle = (low + high) / 2;
    if (passes(middle)) low = middle;
    else high = middle;
  }
  return low;
}

/** The largest equal budgets whose totals stay within the limits. */
export function equalBudgets(model, mechanisms, limits, reach) {
  const most = Math.min(reach, Math.max(...limits.filter(Number.isFinite), 0) || reach);
  const at = (budget) => limits.map((limit) => Math.min(budget, limit));
  const share = largestShare((s) => withinLimits(model, at(s * most), mechanisms, limits));
  return at(share * most).map(budgetDown);
}

/** Budgets with the least sum of variances within the limits; never worse than equal ones.
 *
 * A total is a sum of functions of one budget each, so that with a price on each total every budget
 * can be chosen alone, on a grid.  Prices rise where a total is above its limit.  The best of these
 * answers is drawn towards the equal budgets until all totals fit, then each budget is raised while
 * there is room.
 */
export function budgetsForEach(model, mechanisms, limits, reach) {
  const equal = equalBudgets(model, mechanisms, limits, reach);
  const grids = limits.map((limit) => geometricGrid(Math.min(limit, reach)));
  const parts = sourceParts(model, mechanisms, grids);
  const costs = grids.map((grid, j) => grid.map((e) => reportVariance(mechanisms[j], model.sizes[j], e)));
  const scale = totalVariance(model, mechanisms, equal) / model.count || 1;
  const fits = (epsilons) => withinLimits(model, epsilons, mechanisms, limits);
  let best = equal;
  for (const choice of pricedChoices(parts, costs, limits, scale)) {
    const wished = choice.map((step, j) => grids[j][step]);
    const between = (s) => equal.map((e, j) => e + s * (wished[j] - e));
    const repaired = between(largestShare((s) => fits(between(s))));
    const found = raised(model, mechanisms, limits, repaired).map(budgetDown);
    const better = totalVariance(model, mechanisms, found) < totalVariance(model, mechanisms, best);
    if (better && fits(found)) best = found;
  }
  return best;
}

export function totalVariance(model, mechanisms, epsilons) {
  return epsilons.reduce((sum, e, j) => sum + reportVariance(mechanisms[j], model.sizes[j], e), 0);
}

function geometricGrid(most) {
  const least = most / 1000;
  return Array.from({ length: BUDGET_GRID }, (_, i) => least * (most / least) ** (i / (BUDGET_GRID - 1)));
}

/** What source j at step s of its grid adds to each total: rows (j, s), columns targets. */
function sourceParts(model, mechanisms, grids) {
  return grids.map((grid, j) =>
    grid.map((epsilon) => {
      const sets = model.sets(j, epsilon, mechanisms[j], "report");
      const own = model.direct(j, epsilon, mechanisms[j], "report");
      return Float64Array.from(grids, (_, i) => (i === j ? own : model.leakage(i, j, sets)));
    }),
  );
}

function* pricedChoices(parts, costs, limits, scale) {
  const prices = limits.map((limit) => (Number.isFinite(limit) ? scale / limit : 0));
  for (let round = 0; round < DUAL_ROUNDS; round++) {
    const choice = parts.map((steps, j) => cheapest(steps, costs[j], prices));
    const step = 1.5 / (1 + round / 12);
    limits.forEach((limit, i) => {
      if (!prices[i]) return;
      const total = choice.reduce((sum, s, j) => sum + parts[j][s][i], 0);
      prices[i] *= Math.exp(step * Math.max(-1, Math.min(1, total / limit - 1)));
      prices[i] = Math.max(prices[i], 1e-9 * scale);
    });
    if (round >= 20 && round % 20 === 19) yield choice;
  }
}

function cheapest(steps, costs, prices) {
  let best = 0;
  let least = Infinity;
  for (let s = 0; s < steps.length; s++) {
    let cost = costs[s];
    for (let i = 0; i < prices.length; i++) cost += prices[i] * steps[s][i];
    if (cost < least) {
      least = cost;
      best = s;
    }
  }
  return best;
}

/** Raise each budget as far as the room in all totals allows. */
function raised(model, mechanisms, limits, epsilons) {
  const result = epsilons.slice();
  const totals = model.totals(result, mechanisms, "report").map(({ total }) => total);
  const parts = (j, epsilon) => {
    const sets = model.sets(j, epsilon, mechanisms[j], "report");
    const own = model.direct(j, epsilon, mechanisms[j], "report");
    return totals.map((_, i) => (i === j ? own : model.leakage(i, j, sets)));
  };
  for (let j = 0; j < result.length; j++) {
    const before = parts(j, result[j]);
    const most = Math.min(limits[j], 2 * result[j]);
    const room = (e) => parts(j, e).every((part, i) => totals[i] - before[i] + part <= limits[i] - 1e-9);
    if (!(most > result[j])) continue;
    const share = largestShare((s) => s === 0 || room(result[j] + s * (most - result[j])));
    result[j] += share * (most - result[j]);
    parts(j, result[j]).forEach((part, i) => {
      totals[i] += part - before[i];
    });
  }
  return result;
}
