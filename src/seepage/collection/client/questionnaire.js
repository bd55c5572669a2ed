
// The page: the questions of the drawn form, the report in plain words, and its sending ------------

const survey = JSON.parse(document.getElementById("content").textContent);
const stage = document.getElementById("stage");
const MAX_BUTTONS = 12;

function element(tag, settings = {}, ...children) {
  const node = Object.assign(document.createElement(tag), settings);
  node.append(...children);
  return node;
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
  title.focus();
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

function choices({ attribute, values }, number) {
  const name = `question-${number}`;
  if (values.length > MAX_BUTTONS) {
    const empty = element("option", { value: "" }, "Please choose");
    const options = values.map((value, code) =>
      element("option", { value: String(code) }, label(attribute, value)),
    );
    const select = element("select", { name, required: true }, empty, ...options);
    select.setAttribute("aria-label", label(attribute));
    return [select];
  }
  return values.map((value, code) => {
    const input = element("input", { type: "radio", name, value: String(code), required: true });
    return element("label", { className: "choice" }, input, label(attribute, value));
  });
}

function askQuestions(respondent, form) {
  const asked = form.questions.map((question, number) =>
    element("fieldset", {}, element("legend", {}, label(question.attribute)), ...choices(question, number)),
  );
  const submit = element("button", { type: "submit", className: "first" }, "Add noise and show me the result");
  const sheet = element("form", {}, ...asked, buttons(submit));
  sheet.addEventListener("submit", async (event) => {
    event.preventDefault();
    submit.disabled = true;
    const data = new FormData(sheet);
    const answers = Object.fromEntries(
      form.questions.map(({ attribute, values }, i) => [attribute, values[Number(data.get(`question-${i}`))]]),
    );
    try {
      showLine(respondent, form, await respondent.report(answers));
    } catch (error) {
      explain(error);
    }
  });
  const many = form.questions.length > 1 ? `These ${form.questions.length} questions were` : "This question was";
  const drawn = survey.plan.wire.forms.length > 1 ? `${many} drawn for you by chance. ` : "";
  show(
    "Your questions",
    element("p", {}, `${drawn}Your true answers stay on this device: noise is added here, and only the noisy result can be sent.`),
    sheet,
  );
}

// What is sent -------------------------------------------------------------------------------------

/** A factor as text, rounded up to two significant digits. */
function factorText(factor) {
  if (!(factor < 1000)) return "no useful limit";
  const unit = 10 ** (Math.floor(Math.log10(factor)) - 1);
  return `${Number((Math.ceil((factor / unit) * (1 - 1e-12)) * unit).toPrecision(3))} times`;
}

function noisyText(attribute, values, report) {
  if (!Array.isArray(report)) return [element("strong", {}, label(attribute, values[report]))];
  if (!report.length) return ["none of the answers"];
  return report.flatMap((code, i) => [i ? " " : "", element("strong", {}, label(attribute, values[code]))]);
}

function noisyAnswers(form, line) {
  if (form.together) {
    const names = form.questions.map(({ attribute }) => label(attribute)).join(" ");
    const number = element("strong", {}, `number ${line.report}`);
    return element(
      "dl",
      {},
      element("dt", {}, names),
      element("dd", {}, "Sent: ", number, ", one noisy number for all answers together"),
    );
  }
  const parts = form.questions.flatMap(({ attribute, values }) => {
    const report = line.reports[attribute];
    const lead = Array.isArray(report) ? "Sent, as a set of answers: " : "Sent: ";
    return [
      element("dt", {}, label(attribute)),
      element("dd", {}, lead, ...noisyText(attribute, values, report)),
    ];
  });
  return element("dl", {}, ...parts);
}

/** The maximum factors on the odds: of the report of one answer, and of all reports together. */
function factorTable(form) {
  const own = (attribute) => {
    const index = form.questions.findIndex((question) => question.attribute === attribute);
    return index < 0 ? "not asked" : factorText(form.channels[index].factor);
  };
  const row = (name, ...cells) =>
    element("tr", {}, element("th", { scope: "row" }, name), ...cells.map((text) => element("td", {}, text)));
  const rows = survey.totals[form.number - 1].map(({ attribute, factor }) => {
    const all = factor === null ? "no useful limit" : `${factor} times`;
    return form.together ? row(label(attribute), all) : row(label(attribute), own(attribute), all);
  });
  if (form.together) rows.push(row("All answers as a whole", factorText(form.channels[0].factor)));
  const heads = form.together ? ["About", "what is sent"] : ["About", "its own report", "all that is sent"];
  const head = element("tr", {}, ...heads.map((text) => element("th", { scope: "col" }, text)));
  return [
    element("p", {}, "What is sent changes the odds between any two answers by so much at most. Twice means: of two answers that seemed equally likely before, one can look twice as likely as the other."),
    element("table", {}, element("thead", {}, head), element("tbody", {}, ...rows)),
    element("p", { className: "soft" }, "Answers of a person are related, so a report about one thing also tells something about others: that is in the last column. ", survey.basis[form.number - 1]),
  ];
}

function showLine(respondent, form, line) {
  const text = JSON.stringify(line);
  const raw = element("textarea", { readOnly: true, rows: 4, value: text });
  raw.setAttribute("aria-label", "The exact text that is sent");
  const card = element("div", { className: "card" }, noisyAnswers(form, line));
  const message = element("p", { role: "status" });
  const act = survey.endpoint
    ? button("Send the noisy result", () => sendLine(respondent, line, message, act), true)
    : button("Save the noisy result as a file", () => saveFile(line), true);
  show(
    "What is sent",
    element("p", {}, "Noise was added by chance, so what you see here may differ from your answers, and nobody can tell whether it does."),
    card,
    element("h2", {}, "What it reveals at most"),
    ...factorTable(form),
    element("p", { className: "notice" }, "Please decide by the questions whether you take part, not by how the noise fell: a choice that depends on the noise would tell something itself."),
    element("details", {}, element("summary", {}, "The exact text that is sent"), raw),
    message,
    buttons(act),
  );
}

async function sendLine(respondent, line, message, act) {
  act.disabled = true;
  message.className = "soft";
  message.textContent = "Sending …";
  try {
    await respondent.send(survey.endpoint, survey.sending);
    thank();
  } catch (error) {
    if (!(error instanceof SendError)) return explain(error);
    message.className = "problem";
    message.textContent = "It could not be sent. The same noisy result is kept here: try again later, or save it as a file and hand it in.";
    act.textContent = "Try again";
    act.disabled = false;
    if (!act.nextSibling) act.after(button("Save as a file", () => saveFile(line)));
  }
}

function saveFile(line) {
  const address = URL.createObjectURL(new Blob([`${JSON.stringify(line)}\n`], { type: "text/plain" }));
  element("a", { href: address, download: `report-${line.id.slice(0, 8)}.jsonl` }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}

function thank() {
  show("Thank you", element("p", {}, "Your noisy result was sent. This device remembers that, so that nothing more is revealed if you open the page again."));
}

function explain(error) {
  const explanations = {
    StorageError: "This browser does not let the page remember what it has drawn: its storage is full or blocked. Asking again would then reveal more, so nothing was sent.",
    PlanError: "This page is damaged or was changed, so nothing was sent.",
  };
  const kind = Object.keys(explanations).find((name) => error.constructor.name === name);
  show("Nothing was sent", element("p", { className: "problem" }, explanations[kind] ?? "Something went wrong, and nothing was sent."), element("p", { className: "soft" }, error.message));
}

async function start() {
  try {
    const plan = await loadPlan(survey.plan, { collection: survey.plan.collection });
    const respondent = new Respondent(plan);
    const form = await respondent.form();
    const { line, sent } = await respondent.kept();
    if (sent) thank();
    else if (line) showLine(respondent, form, line);
    else askQuestions(respondent, form);
  } catch (error) {
    explain(error);
  }
  document.documentElement.dataset.ready = "";
}

await start();
