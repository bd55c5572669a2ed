// Budgets that keep every total within its limit, under the sum of leakages (`independent`).
//
// The totals come from lines that are never below the exact leakage, and budgets are rounded down:
// what is found here also keeps the limits in Python.

import { reportVariance } from "./mechanisms.js";

const BUDGET_STEP = 1e-6;
const DESCENT_ROUNDS = 300;
const SLOPE_STEP = 1e-4;

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

/** The largest share in [0, 1], to 2^-32, that passes a test which holds at 0. */
function largestShare(passes) {
  if (passes(1)) return 1;
  let low = 0;
  let high = 1;
  for (let step = 0; step < 32; step++) {
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
 * Descent on ln(sum of variances) with a barrier in front of each limit, from the equal budgets.
 * What it finds is drawn towards them until all totals fit, then each budget is raised while there
 * is room.
 */
export function budgetsForEach(model, mechanisms, limits, reach) {
  const equal = equalBudgets(model, mechanisms, limits, reach);
  if (equal.some((epsilon) => epsilon === 0)) return equal;
  const wished = descended(model, mechanisms, limits, equal, reach);
  const fits = (epsilons) => withinLimits(model, epsilons, mechanisms, limits);
  const between = (s) => equal.map((e, j) => budgetDown(e + s * (wished[j] - e)));
  const found = between(largestShare((s) => fits(between(s))));
  const higher = raised(model, mechanisms, limits, found, reach).map(budgetDown);
  const variance = (epsilons) => totalVariance(model, mechanisms, epsilons);
  const candidates = [equal, found, higher].filter(fits);
  return candidates.reduce((best, one) => (variance(one) < variance(best) ? one : best), equal);
}

export function totalVariance(model, mechanisms, epsilons) {
  return epsilons.reduce((sum, e, j) => sum + reportVariance(mechanisms[j], model.sizes[j], e), 0);
}

/** Follow the slope of the barrier problem in ln epsilon, with steps of one size a coordinate. */
function descended(model, mechanisms, limits, start, reach) {
  let place = start.map((e) => Math.log(0.97 * e));
  const mean = start.map(() => 0);
  let best = start;
  for (let round = 0; round < DESCENT_ROUNDS; round++) {
    const done = round / DESCENT_ROUNDS;
    const slopes = barrierSlopes(model, mechanisms, limits, place.map(Math.exp), 0.02 * 0.002 ** done);
    const size = Math.hypot(...slopes) / Math.sqrt(slopes.length) || 1;
    slopes.forEach((slope, j) => {
      mean[j] = 0.8 * mean[j] + (0.2 * slope) / size;
    });
    let step = 0.12 * 0.01 ** done;
    const moved = () => place.map((x, j) => Math.min(Math.log(reach), x - step * Math.max(-2, Math.min(2, mean[j]))));
    const inside = (x) => withinLimits(model, x.map(Math.exp), mechanisms, limits.map((limit) => 0.99999 * limit));
    while (step > 1e-6 && !inside(moved())) step /= 2;
    if (step <= 1e-6) {
      mean.fill(0);
      place = place.map((x) => x - 0.002);
    } else {
      place = moved();
    }
    const here = place.map(Math.exp);
    if (totalVariance(model, mechanisms, here) < totalVariance(model, mechanisms, best)) best = here;
  }
  return best;
}

/** The slope of ln(sum of variances) - weight sum_i ln(1 - total_i/limit_i) in each ln epsilon. */
function barrierSlopes(model, mechanisms, limits, epsilons, weight) {
  const totals = model.totals(epsilons, mechanisms, "report");
  const prices = totals.map(({ total }, i) => (Number.isFinite(limits[i]) ? weight / (limits[i] - total) : 0));
  const sum = totalVariance(model, mechanisms, epsilons);
  return epsilons.map((epsilon, j) => {
    const next = epsilon * (1 + SLOPE_STEP);
    const variances = [epsilon, next].map((e) => reportVariance(mechanisms[j], model.sizes[j], e));
    const [now, then] = [epsilon, next].map((e) => sourceParts(model, mechanisms, j, e));
    const told = prices.reduce((price, p, i) => price + p * (then[i] - now[i]), 0);
    return ((variances[1] - variances[0]) / sum + told) / SLOPE_STEP;
  });
}

/** What source j with a budget adds to each total. */
function sourceParts(model, mechanisms, j, epsilon) {
  const sets = model.sets(j, epsilon, mechanisms[j], "report");
  const own = model.direct(j, epsilon, mechanisms[j], "report");
  return model.names.map((_, i) => (i === j ? own : model.leakage(i, j, sets)));
}

/** Raise each budget as far as the room in all totals allows. */
function raised(model, mechanisms, limits, epsilons, reach) {
  const result = epsilons.slice();
  const totals = model.totals(result, mechanisms, "report").map(({ total }) => total);
  const parts = (j, epsilon) => sourceParts(model, mechanisms, j, epsilon);
  for (let j = 0; j < result.length; j++) {
    const before = parts(j, result[j]);
    const most = Math.min(limits[j], 2 * result[j], reach);
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
