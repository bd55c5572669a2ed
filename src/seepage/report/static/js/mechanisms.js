// Likely sets and contrasts of mechanisms in closed form.
// Formulas as in the theory page, sections 4 and 5; k values, budget epsilon.

/** The mechanisms with a closed form, in the order of the registry. */
export const MECHANISM_NAMES = {
  grr: "GRR, generalised randomised response",
  rappor: "RAPPOR, symmetric unary encoding",
  oue: "OUE, optimised unary encoding",
  exp: "EXP, exponential mechanism",
  blh: "BLH, binary local hashing",
  olh: "OLH, optimised local hashing",
  she: "SHE, summed histogram encoding",
  ss: "SS, subset selection",
};

const MAX_BUCKETS = 65536;

/** The family of likely sets of a report (singletons, subsets of one size, all) and its contrast. */
export function likelySets(mechanism, view, k, epsilon) {
  if (k < 2) return { kind: "singletons", size: 1, contrast: 0 };
  if (!mechanism) return { kind: "all", size: 1, contrast: epsilon };
  if (view === "inferred") {
    return { kind: "singletons", size: 1, contrast: guessContrast(mechanism, k, epsilon) };
  }
  if (mechanism === "grr") return { kind: "singletons", size: 1, contrast: epsilon };
  if (mechanism === "exp") return { kind: "singletons", size: 1, contrast: epsilon / 2 };
  if (mechanism === "ss") return { kind: "subsets", size: subsetSize(k, epsilon), contrast: epsilon };
  return { kind: "all", size: 1, contrast: epsilon };
}

function subsetSize(k, epsilon) {
  return Math.max(1, Math.floor(k / (Math.exp(epsilon) + 1)));
}

function bucketCount(mechanism, epsilon) {
  return mechanism === "blh" ? 2 : Math.min(Math.max(2, Math.round(Math.exp(epsilon)) + 1), MAX_BUCKETS);
}

/** The contrast of the inferred value, ln a (k - 1)/(1 - a) with a the probability of a right guess. */
export function guessContrast(mechanism, k, epsilon) {
  if (mechanism === "grr") return epsilon;
  if (mechanism === "exp") return epsilon / 2;
  if (mechanism === "ss") {
    const size = subsetSize(k, epsilon);
    const contrast = Math.log((k - 1) / (size - 1 + (k - size) * Math.exp(-epsilon)));
    return Math.min(Math.max(0, contrast), epsilon);
  }
  const missed = missRate(mechanism, k, epsilon);
  const contrast = Math.log(((1 - missed) * (k - 1)) / missed);
  return Number.isFinite(contrast) ? Math.min(Math.max(0, contrast), epsilon) : epsilon;
}

function missRate(mechanism, k, epsilon) {
  if (mechanism === "oue") return unaryMiss(0.5, 1 / (Math.exp(epsilon) + 1), k);
  if (mechanism === "rappor") {
    const flipped = 1 / (Math.exp(epsilon / 2) + 1);
    return unaryMiss(flipped, flipped, k);
  }
  if (mechanism === "she") return laplaceMiss(k, epsilon);
  const buckets = bucketCount(mechanism, epsilon);
  const right = 1 / (1 + (buckets - 1) * Math.exp(-epsilon));
  const away = Math.log1p(-1 / buckets);
  const chosen = (-Math.expm1(k * away) * buckets) / k;
  return 1 - right * chosen - (1 - right) * (Math.exp((k - 1) * away) / k);
}

/** Error probability of the guess from bits: the true one is 0 with `lost`, others 1 with `otherBit`. */
function unaryMiss(lost, otherBit, k) {
  const noneElse = Math.exp((k - 1) * Math.log1p(-otherBit));
  const many = k * otherBit;
  const chosenOver =
    many > 1e-4
      ? 1 + Math.expm1(k * Math.log1p(-otherBit)) / many
      : ((k - 1) * otherBit) / 2 - ((k - 1) * (k - 2) * otherBit * otherBit) / 6;
  return lost * (1 - noneElse / k) + (1 - lost) * chosenOver;
}

function laplaceMiss(k, epsilon) {
  const rate = epsilon / 2;
  const shrink = Math.exp(-rate);
  let inside = rate;
  let steps = 0;
  for (let order = 1; order < k - 1; order++) {
    const power = Math.exp(order * Math.log1p(-shrink / 2));
    steps += (-power * Math.expm1(-order * Math.log1p(-Math.expm1(-rate)))) / order;
    inside += Math.min(Math.max(rate - steps, 0), rate * power);
  }
  const below = (shrink / 2) * (1 - 2 ** (1 - k) / k);
  return below + (shrink / 4) * inside + laplaceMissAbove(shrink, k);
}

function laplaceMissAbove(shrink, k) {
  if (k * shrink > 1) return 0.5 + Math.expm1(k * Math.log1p(-shrink / 2)) / (k * shrink);
  let total = 0;
  let term = 0.5;
  for (let order = 1; order < 20; order++) {
    term *= ((-(k - order) / (order + 1)) * shrink) / 2;
    total -= term;
  }
  return total;
}
