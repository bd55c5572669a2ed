// Methods and provenance: what was analysed, how, and by which formulas.

import { byId, dataTable, element, listed } from "./dom.js";
import { settingText } from "./verdict.js";

const WORDS = [
  ["Leakage", "The leakage of a source about a target is the largest log-ratio, over reports of the source and pairs of target values, of the probabilities of that report: a report is at most e to the leakage times likelier under one target value than under another. It is directional, and lies between 0 and the source's epsilon."],
  ["Bound and mechanisms", "Without a mechanism the leakage is the bound that holds for any mechanism with this epsilon. A mechanism's own leakage can be lower: it depends on which sets of source values its reports can favour, single ones (GRR, EXP), sets of one size (SS), or any (unary encodings, local hashing, SHE)."],
  ["View", "With the view report the adversary keeps the whole report, as any privacy claim should suppose; with the view inferred only one value guessed from it."],
  ["Totals", "An attribute's total is what all reports together tell about it. Their sum, the total named independent, is an assumption: valid only if sources are independent given the target; real data often violate it. Exact, merged and worst totals hold without that."],
  ["Safe side", "Curves on this page are chords of a convex profile, so they never lie below the exact leakage, and above it by less than a thousandth of a nat for the totals."],
];
const CITATION =
  "Sandaru Jayawardana, Sennur Ulukus, Ming Ding, Kanchana Thilakarathna: The Hidden Cost of Correlation: Rethinking Privacy Leakage in Local Differential Privacy.";

/** Show the methods and the provenance. */
export function showMethods(content) {
  const facts = factsOf(content).map(([term, text]) => [element("dt", {}, term), element("dd", {}, text)]);
  const words = WORDS.map(([term, text]) => [element("dt", {}, term), element("dd", {}, text)]);
  byId("methods-body").replaceChildren(
    element("dl", { class: "facts" }, ...facts.flat()),
    element("details", {}, element("summary", {}, "Attributes, values and bins"), attributeTable(content)),
    element("h3", {}, "Formulas in words"),
    element("dl", { class: "words" }, ...words.flat()),
    element("h3", {}, "Citation"),
    element("p", {}, CITATION),
  );
}

function factsOf(content) {
  const missing = content.attributes.filter((attribute) => attribute.missing);
  const binned = content.attributes.filter((attribute) => attribute.binned).map((attribute) => attribute.name);
  const smoothing = content.smoothing || {};
  const smooth = Object.values(smoothing).some((value) => value > 0);
  return [
    ["Data", content.name || "not named"],
    ["Records", content.counted],
    ["Attributes", String(content.attributes.length)],
    ["Data digest", element("code", {}, content.digest)],
    ["Missing values", missing.length ? listed(missing.map((a) => `${a.name}: ${a.missing.toLocaleString("en")}`), 12) : "none as a category of their own"],
    ["Binned numbers", binned.length ? listed(binned, 20) : "none"],
    ["Smoothing", smooth ? `min_count ${smoothing.min_count}, prior ${smoothing.prior}: leakages may be below the table's own` : "none"],
    ["Settings", settingText(content) + (deltaOf(content) ? `, delta ${deltaOf(content)}` : "")],
    ["Command", content.command ? element("code", {}, content.command) : "not recorded"],
    ["seepage version", content.seepage || "not recorded"],
    ["On this page", content.tables ? "The pairwise counts of the data are inside this file; share it as you would share them." : "The data's pairwise counts are not inside this file."],
  ];
}

function deltaOf(content) {
  return Array.isArray(content.delta) ? content.delta.join(", ") : content.delta;
}

function attributeTable(content) {
  const rows = content.attributes.map((attribute) => {
    const unseen = attribute.values.filter((_, i) => !attribute.marginal[i]);
    return [
      attribute.name,
      String(attribute.values.length),
      attribute.binned ? "binned" : "categories",
      attribute.missing.toLocaleString("en"),
      unseen.length ? listed(unseen, 4) : "–",
      listed(attribute.values, 8),
    ];
  });
  const table = dataTable("Attributes", ["attribute", "values", "kind", "missing", "never seen", "names"], rows);
  table.classList.add("words-last");
  return element("div", { class: "scroll tall", tabindex: 0, role: "region", "aria-label": "Attributes" }, table);
}
