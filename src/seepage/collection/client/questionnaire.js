
// The page: the questions of the drawn form, the report in plain words, and its sending ------------

const survey = JSON.parse(document.getElementById("content").textContent);
const stage = document.getElementById("stage");
const MAX_BUTTONS = 12;

function element(tag, settings = {}, ...children) {
  const node = Object.assign(document.createElement(tag), settings);
  node.append(...children);
  return node;
}

/** A text of the page, with {names} replaced. */
function say(key, values = {}) {
  return survey.texts[key].replace(/\{(\w+)\}/g, (_, name) => values[name]);
}

function label(attribute, value) {
  const known = survey.labels.find(
    (entry) => entry.attribute === attribute && entry.value === (value ?? ""),
  );
  return known?.label ?? value ?? attribute;
}

/** Show one step of the page and move the focus to its heading. */
function show(heading, ...children) {
  const title = element("h2", { tabIndex: -1 }, heading);
  stage.replaceChildren(title, ...children);
  if (!survey.preview) title.focus();
}

function buttons(...children) {
  return element("div", { className: "buttons" }, ...children);
}

function button(text, onClick, first = false) {
  const node = element("button", { type: "button", className: first ? "first" : "" }, text);
  node.addEventListener("click", onClick);
  return node;
}

// Questions ----------------------------------------------------------------------------------------

/** The answers of a question by their labels; the last one, null, for whoever has none. */
function answersOf(question) {
  const { attribute, values } = question;
  const listed = values.map((value) => ({ answer: value, text: label(attribute, value) }));
  if (question.open || enteredFor(question)) listed.push({ answer: null, text: say("missing") });
  return listed;
}

function choices(question, number) {
  const { attribute } = question;
  const listed = answersOf(question);
  const name = `question-${number}`;
  if (listed.length > MAX_BUTTONS) {
    const empty = element("option", { value: "" }, say("choose"));
    const options = listed.map(({ text }, index) => element("option", { value: String(index) }, text));
    const select = element("select", { name, required: true }, empty, ...options);
    select.setAttribute("aria-label", label(attribute));
    return [select];
  }
  return listed.map(({ text }, index) => {
    const input = element("input", { type: "radio", name, value: String(index), required: true });
    return element("label", { className: "choice" }, input, text);
  });
}

/** The answer that is entered for whoever has none, if the plan enters one of those listed. */
function enteredFor({ attribute }) {
  return survey.entered.find((one) => one.attribute === attribute);
}

function enteredText(question) {
  const entered = enteredFor(question);
  if (!entered) return [];
  const answer = label(question.attribute, entered.value);
  return [element("p", { className: "soft" }, say("entered", { answer }))];
}

function askQuestions(respondent, form) {
  const asked = form.questions.map((question, number) => {
    const legend = element("legend", {}, label(question.attribute));
    return element("fieldset", {}, legend, ...choices(question, number), ...enteredText(question));
  });
  const submit = element("button", { type: "submit", className: "first" }, say("add noise"));
  const sheet = element("form", {}, ...asked, buttons(submit));
  sheet.addEventListener("submit", async (event) => {
    event.preventDefault();
    submit.disabled = true;
    const data = new FormData(sheet);
    const answers = Object.fromEntries(
      form.questions.map((question, i) => {
        const { answer } = answersOf(question)[Number(data.get(`question-${i}`))];
        return [question.attribute, answer];
      }),
    );
    try {
      showLine(respondent, form, await respondent.report(answers));
    } catch (error) {
      explain(error);
    }
  });
  const count = form.questions.length;
  const drawn = survey.plan.wire.forms.length > 1 ? say(count > 1 ? "drawn" : "drawn one", { count }) : "";
  const open = form.questions.some((question) => question.open);
  const leave = open ? [element("p", { className: "soft" }, say("left open"))] : [];
  show(say("questions"), element("p", {}, drawn, say("stays here")), ...leave, sheet);
}

// What is sent -------------------------------------------------------------------------------------

function noisyText(attribute, values, report) {
  if (!Array.isArray(report)) return [element("strong", {}, label(attribute, values[report]))];
  if (!report.length) return [say("none")];
  return report.flatMap((code, i) => [i ? " " : "", element("strong", {}, label(attribute, values[code]))]);
}

function noisyAnswers(form, line) {
  if (form.together) {
    const names = form.questions.map(({ attribute }) => label(attribute)).join(" ");
    const number = element("strong", {}, say("number", { number: line.report }));
    return element(
      "dl",
      {},
      element("dt", {}, names),
      element("dd", {}, say("sent"), number, say("together")),
    );
  }
  const parts = form.questions.flatMap(({ attribute, values }) => {
    const report = line.reports[attribute];
    const lead = say(Array.isArray(report) ? "sent as a set" : "sent");
    return [
      element("dt", {}, label(attribute)),
      element("dd", {}, lead, ...noisyText(attribute, values, report)),
    ];
  });
  return element("dl", {}, ...parts);
}

/** What the report tells at most: proven, and in the survey behind the plan; unasked in one line. */
function factorTable(form) {
  const { asked, others, basis } = survey.tells[form.number - 1];
  const times = (factor) => (factor === null ? say("no limit") : say("times", { factor }));
  const row = (name, one) =>
    element(
      "tr",
      {},
      element("th", { scope: "row" }, name),
      element("td", {}, times(one.proven)),
      ...("observed" in one ? [element("td", {}, times(one.observed))] : []),
    );
  const rows = asked.map((one) => row("attribute" in one ? label(one.attribute) : say("whole"), one));
  const heads = ["about", "proven", ...("observed" in asked[0] ? ["observed"] : [])];
  const head = element("tr", {}, ...heads.map((key) => element("th", { scope: "col" }, say(key))));
  const rest = others && say("observed" in others ? "others observed" : "others", { ...others, proven: times(others.proven), observed: times(others.observed) });
  return [
    element("p", {}, say("odds")),
    element("table", {}, element("thead", {}, head), element("tbody", {}, ...rows)),
    ...(rest ? [element("p", {}, rest)] : []),
    element("p", { className: "soft" }, say(basis, survey)),
  ];
}

function showLine(respondent, form, line) {
  const text = JSON.stringify(line);
  const raw = element("textarea", { readOnly: true, rows: 4, value: text });
  raw.setAttribute("aria-label", say("exact text"));
  const card = element("div", { className: "card" }, noisyAnswers(form, line));
  const message = element("p", { role: "status" });
  const act = survey.endpoint
    ? button(say("send"), () => sendLine(respondent, line, message, act), true)
    : button(say("save"), () => saveFile(line), true);
  show(
    say("what is sent"),
    element("p", {}, say("noise")),
    card,
    element("h2", {}, say("reveals")),
    ...factorTable(form),
    element("p", { className: "notice" }, say("decide")),
    element("details", {}, element("summary", {}, say("exact text")), raw),
    message,
    buttons(act),
  );
}

async function sendLine(respondent, line, message, act) {
  act.disabled = true;
  message.className = "soft";
  message.textContent = say("sending");
  try {
    await respondent.send(survey.endpoint, survey.sending);
    thank();
  } catch (error) {
    if (!(error instanceof SendError)) return explain(error);
    message.className = "problem";
    message.textContent = say("not sent");
    act.textContent = say("again");
    act.disabled = false;
    if (!act.nextSibling) act.after(button(say("save short"), () => saveFile(line)));
  }
}

function saveFile(line) {
  const address = URL.createObjectURL(new Blob([`${JSON.stringify(line)}\n`], { type: "text/plain" }));
  element("a", { href: address, download: `report-${line.id.slice(0, 8)}.jsonl` }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}

function thank() {
  show(say("thanks"), element("p", {}, say("was sent")));
}

function explain(error) {
  const kind = ["StorageError", "PlanError"].find((name) => error.constructor.name === name);
  show(say("nothing sent"), element("p", { className: "problem" }, say(kind ?? "error")), element("p", { className: "soft" }, error.message));
}

/** Introduction, consent and contact, before the form is drawn; at once where there are none. */
function introduce(next) {
  const parts = ["introduction", "consent", "contact"].map((key) => say(key)).filter(Boolean);
  if (!parts.length) return next();
  show(say("introduction heading"), ...parts.map((text) => element("p", {}, text)), buttons(button(say("take part"), next, true)));
}

/** Storage of a preview, which ends with the page. */
function forgetful() {
  const kept = new Map();
  return {
    getItem: (key) => kept.get(key) ?? null,
    setItem: (key, value) => kept.set(key, value),
  };
}

async function start() {
  try {
    const plan = await loadPlan(survey.plan, { collection: survey.plan.collection });
    const respondent = new Respondent(plan, survey.preview ? { storage: forgetful() } : {});
    const ask = async () => askQuestions(respondent, await respondent.form());
    const { line, sent } = await respondent.kept();
    if (sent) thank();
    else if (line) showLine(respondent, await respondent.form(), line);
    else await introduce(() => ask().catch(explain));
  } catch (error) {
    explain(error);
  }
  document.documentElement.dataset.ready = "";
}

await start();
