// The plan as a file that `seepage perturb` takes: the same JSON that `seepage calibrate` writes.
//
// Its digest is SHA-256 of canonical JSON: keys in order, no blanks, numbers with a point.  Names,
// values and edges come as canonical text; other numbers have six decimals at most, and none is
// so small or large that it would be written with an exponent.

import { bestMechanism } from "./mechanisms.js";
import { sha256 } from "./sha256.js";

const PLAN_NOTE = "made on the report page: totals are sums of pairwise leakages, an assumption";

function planNumber(value) {
  const text = String(value);
  return text.includes(".") ? text : `${text}.0`;
}

function totalUp(value) {
  if (value === 0) return 0;
  return Number((Math.ceil(Math.max(value, 1e-4) * 1e6 + 1e-3) / 1e6).toFixed(6));
}

/** The canonical JSON of a plan with these budgets. */
export function planText(content, model, settings) {
  const { epsilons, mechanisms, limits, totals, way } = settings;
  const attributes = content.attributes.map((attribute, i) => {
    const how = epsilons[i] > 0 ? mechanisms[i] || bestMechanism(model.sizes[i], epsilons[i]) : null;
    const limit = Number.isFinite(limits[i]) ? planNumber(limits[i]) : "null";
    const total = Math.min(totalUp(totals[i].total), Number.isFinite(limits[i]) ? limits[i] : Infinity);
    return (
      `{"delta":0.0,"edges":${attribute.plan.edges},"epsilon":${planNumber(epsilons[i])},` +
      `"limit":${limit},"mechanism":${JSON.stringify(how)},"name":${attribute.plan.name},` +
      `"parameters":{},"public":false,"total":${planNumber(total)},"total_delta":0.0,` +
      `"values":${attribute.plan.values}}`
    );
  });
  const basis = mechanisms.every((name) => !name) ? "bound" : "mechanism";
  const provenance =
    `{"digest":${JSON.stringify(content.digest)},"records":${content.records},` +
    `"seepage":${JSON.stringify(content.seepage)},` +
    `"settings":{"budgets":${JSON.stringify(way)},"made_on":"report page"}}`;
  return (
    `{"attributes":[${attributes.join(",")}],"basis":"${basis}","confidence":null,` +
    `"guarantee":"independent","kind":"assumed","notes":[${JSON.stringify(PLAN_NOTE)}],` +
    `"provenance":${provenance},"view":"report"}`
  );
}

/** The whole file, with the digest of its content. */
export function planFile(content, model, settings) {
  const plan = planText(content, model, settings);
  return `{"format":"seepage plan","version":1,"digest":"${sha256(plan)}","plan":${plan}}\n`;
}
