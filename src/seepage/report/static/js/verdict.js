// The verdict: the decision and its basis, the state of every limit, the strongest leaks.

import { arrow, byId, element, isolated, jsonNumber, listed, nats, quoted, shortened } from "./dom.js";
import { MECHANISM_NAMES } from "./mechanisms.js";
import { csvButton } from "./saving.js";

const STATES = ["exceeded", "not certifiable", "within"];
const MAX_WITHIN = 20;

/** The mechanism, budget and view of the analysis, as text. */
export function settingText(content) {
  const same = (list) => list.every((item) => item === list[0]);
  const mechanism = !same(content.mechanism)
    ? "several mechanisms"
    : content.mechanism[0] === null
      ? "any mechanism (the bound)"
      : MECHANISM_NAMES[content.mechanism[0]] || content.mechanism[0];
  const epsilon = same(content.epsilon)
    ? `epsilon ${content.epsilon[0]} each`
    : `epsilon ${Math.min(...content.epsilon)} to ${Math.max(...content.epsilon)}`;
  const keeps = content.view === "report" ? "the whole report" : "a value inferred from the report";
  return `${mechanism}, ${epsilon}, adversary keeps ${keeps}`;
}

/** Show the verdict, with the limits of the analysis or others (`whatIf`). */
export function showVerdict(content, limits, whatIf) {
  const judged = judgements(content, limits);
  byId("verdict-body").replaceChildren(
    decisionPart(content),
    ...[whatIf ? whatIfPart(judged, limits) : null, limitsPart(judged, limits), leaksPart(content)].filter((part) => part),
  );
}


/** The judgement of each attribute: an upper bound above a limit is never called exceeded. */
function judgements(content, limits) {
  return content.verdict.attributes.map((judgement, i) => {
    const [lower, limit] = [jsonNumber(judgement.lower), limits[i]];
    const { upper, upper_by, delta } = upperOf(content, i, limit);
    const state = !Number.isFinite(limit) ? null : lower > limit ? "exceeded" : upper <= limit ? "within" : "not certifiable";
    return { ...judgement, lower, upper, upper_by, delta, limit, state };
  });
}

/** The upper bound of an attribute: a certified total within the limit, else the smallest total. */
function upperOf(content, i, limit) {
  const bounds = content.totals
    .filter((total) => total.kind === "certified" || total.kind === "statistical")
    .map((total) => ({ upper: jsonNumber(total.totals[i]), upper_by: total.guarantee, delta: total.deltas[i], kind: total.kind }));
  const smallest = (list) => list.reduce((best, bound) => (best && best.upper <= bound.upper ? best : bound), null);
  const certified = smallest(bounds.filter((bound) => bound.kind === "certified"));
  if (certified && certified.upper <= limit && Number.isFinite(limit)) return certified;
  return smallest(bounds) || { upper: Infinity, upper_by: "", delta: 0 };
}

function decisionPart(content) {
  const { decision, basis, settle } = content.verdict;
  return element(
    "div",
    { id: "decision" },
    element("p", { class: "headline" }, element("strong", {}, decision)),
    element("p", {}, basis),
    settle ? element("p", {}, ...withCode(settle)) : null,
  );
}

/** Text in which parts between backticks are code elements. */
function withCode(text) {
  return text.split("`").map((part, i) => (i % 2 ? element("code", {}, part) : part));
}

function whatIfPart(judged) {
  const counts = STATES.map((state) => `${judged.filter((judgement) => judgement.state === state).length} ${state}`);
  return element(
    "p",
    { class: "note whatif", role: "status" },
    element("strong", {}, "What if: "),
    `with the limits chosen under What if, the budgets as analysed: ${counts.join(", ")}. The sentences above are for the limits of the analysis.`,
  );
}

function limitsPart(judged, limits) {
  const limited = limits.some(Number.isFinite);
  const rank = (judgement) => (judgement.state === null ? 3 : STATES.indexOf(judgement.state));
  const slack = (judgement) => (limited ? (judgement.state === "within" ? judgement.limit - judgement.upper : judgement.limit - judgement.lower) : -judgement.lower);
  const order = judged.slice().sort((a, b) => rank(a) - rank(b) || slack(a) - slack(b));
  const end = barsEnd(judged);
  const open = order.filter((judgement) => judgement.state !== "within" && judgement.state !== null);
  const others = order.filter((judgement) => judgement.state === "within" || judgement.state === null);
  const rows = [...open, ...others.slice(0, MAX_WITHIN)].map((judgement) => limitRow(judgement, end));
  const rest = others.slice(MAX_WITHIN);
  return element(
    "div",
    { id: "limits" },
    element("h3", {}, limited ? "Every limit" : "What is known of every total"),
    element("p", { class: "muted" }, "In nats; 1 nat: 2.7 times likelier."),
    element("div", { class: "rows" }, ...rows),
    rest.length ? element("details", {}, element("summary", {}, `${rest.length} more ${limited ? "within their limits" : ""}`), element("div", { class: "rows" }, ...rest.map((judgement) => limitRow(judgement, end)))) : null,
    element(
      "p",
      { class: "legend-line", "aria-hidden": "true" },
      element("span", { class: "swatch known" }),
      " known to be told ",
      element("span", { class: "swatch possible" }),
      " possible up to the smallest total that holds: ",
      element("span", { class: "swatch end certified" }),
      " certified ",
      judged.some((judgement) => judgement.delta > 0) ? element("span", { class: "swatch end statistical" }) : null,
      judged.some((judgement) => judgement.delta > 0) ? " statistical, with a delta " : null,
      limited ? element("span", { class: "swatch limit" }) : null,
      limited ? " limit" : null,
    ),
    csvButton("limits", () => [
      ["attribute", "limit", "state", "at least", "by", "at most", "by", "delta"],
      ...order.map((judgement) => [judgement.attribute, judgement.limit, judgement.state || "", judgement.lower, judgement.lower_by, judgement.upper, judgement.upper_by, judgement.delta]),
    ]),
  );
}

/** The end of the bars: all lower bounds and limits; upper bounds only up to twice these. */
function barsEnd(judged) {
  const near = Math.max(...judged.flatMap((judgement) => [judgement.lower, judgement.limit]).filter(Number.isFinite), 1e-9);
  const all = Math.max(near, ...judged.map((judgement) => judgement.upper).filter(Number.isFinite));
  return 1.03 * Math.min(all, 2 * near);
}

function limitRow(judgement, end) {
  const percent = (value) => `${Math.min(100, (100 * value) / end)}%`;
  const bar = element(
    "div",
    { class: "bar", "aria-hidden": "true" },
    element("div", { class: "fill possible", style: { width: percent(judgement.upper) } }),
    element("div", { class: "fill known", style: { width: percent(judgement.lower) } }),
    judgement.upper_by && judgement.upper <= end ? element("div", { class: `end ${judgement.delta > 0 ? "statistical" : "certified"}`, style: { left: percent(judgement.upper) } }) : null,
    Number.isFinite(judgement.limit) ? element("div", { class: "mark", style: { left: percent(judgement.limit) } }) : null,
  );
  const slack = judgement.delta > 0 ? ` but for delta ${judgement.delta}` : "";
  const upperText = judgement.upper_by ? `at most ${roundedUp(judgement.upper)}${slack} (${judgement.upper_by})` : "no total that holds";
  const limit = Number.isFinite(judgement.limit) ? `limit ${judgement.limit}: ` : "";
  return element(
    "div",
    { class: "row judged" },
    element("span", { class: "name" }, isolated(judgement.attribute)),
    judgement.state ? element("span", { class: `state ${judgement.state.replace(" ", "-")}` }, judgement.state) : element("span", {}),
    bar,
    element("span", { class: "value small" }, `${limit}at least ${roundedDown(judgement.lower)} (${judgement.lower_by}), ${upperText}`),
  );
}

const roundedDown = (value) => (Number.isFinite(value) ? (Math.floor(100 * value + 1e-9) / 100).toFixed(2) : "∞");
const roundedUp = (value) => (Number.isFinite(value) ? (Math.ceil(100 * value - 1e-9) / 100).toFixed(2) : "∞");

function leaksPart(content) {
  const leaks = content.leaks || [];
  if (!leaks.length) {
    return element("div", {}, element("h3", {}, "Strongest leaks"), element("p", {}, "No attribute is established to tell anything about another."), sameText(content));
  }
  return element(
    "div",
    { id: "leaks" },
    element("h3", {}, "Strongest leaks: what one report tells about another attribute"),
    element("p", { class: "muted" }, `Ranked by lower limit for the population, with confidence ${content.sure} for all at once. Witnesses are among values with at least ${content.support.toLocaleString("en")} records, without missing ones.`),
    element("ol", { class: "leaks" }, ...leaks.slice(0, 5).map((leak) => element("li", {}, ...leakWords(content, leak)))),
    sameText(content),
  );
}

function leakWords(content, leak) {
  const names = (list) => list.map((name) => shortened(name, 60)).join(" = ");
  const own = content.epsilon[content.attributes.findIndex((attribute) => attribute.name === leak.source)];
  const why = leak.likely
    ? ` A report that favours ${shortened(leak.source, 40)} ${listed(leak.likely.map(quoted), 4) || "nothing"} is ` +
      `${Math.exp(leak.supported).toPrecision(3)} times likelier under ${shortened(leak.target, 40)} ${quoted(leak.likelier)} than under ${quoted(leak.other)}.`
    : "";
  return [
    element("strong", {}, arrow(names(leak.sources), names(leak.targets))),
    ` ${nats(leak.leakage)} of at most ${own} nats; ${roundedDown(leak.lower)} to ${roundedUp(jsonNumber(leak.upper))} in the population.`,
    element("span", { class: "muted" }, why),
  ];
}

function sameText(content) {
  const groups = content.same || [];
  if (!groups.length) return null;
  const words = groups.map((names) => names.map((name) => shortened(name, 60)).join(" and ")).join("; ");
  return element("p", { class: "muted" }, `Determine each other and count as one finding: ${words}. Each spends a budget of its own.`);
}
