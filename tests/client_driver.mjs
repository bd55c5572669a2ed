// Runs the client for the tests: jobs as lines of JSON on standard input, a line for the result of each.
import { argv, stdin } from "node:process";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

globalThis.crypto ??= (await import("node:crypto")).webcrypto; // Node 18 has it there only
const client = await import(pathToFileURL(argv[2]));
const jobs = {
  /** Which vectors of a plan do not come out as Python says. */
  async vectors({ plan, vectors }) {
    const loaded = await client.loadPlan(plan);
    const forms = vectors.forms.filter(
      ([bytes, number]) => client.drawForm(loaded, octets(bytes)).number !== number,
    );
    const records = vectors.records.filter(({ form, answers, bytes, report }) => {
      const made = client.perturb(loaded.forms[form - 1], answers, octets(bytes));
      return client.canonicalJson(made) !== client.canonicalJson(report);
    });
    return { wrong: forms.length + records.length, first: records[0] ?? forms[0] ?? null };
  },

  /** The codes of each person's answers, for all attributes of a plan; null for none. */
  async codes({ plan, people }) {
    const loaded = await client.loadPlan(plan);
    const questions = loaded.forms.flatMap((form) => form.questions);
    const codeOf = (question, answer) => question.code(answer) ?? null;
    return people.map((answers) => {
      const codes = questions.map((question) => [
        question.attribute,
        codeOf(question, answers[question.attribute]),
      ]);
      return Object.fromEntries(codes);
    });
  },

  /** How often each report of one answer, and each form, is drawn from the device's randomness. */
  async draws({ plan, answers, count }) {
    const loaded = await client.loadPlan(plan);
    const form = loaded.forms[0];
    const seen = {};
    for (let done = 0; done < count; done += 1000) {
      const pool = client.secureBytes(1000 * form.bytes);
      for (let i = 0; i < 1000; i++) {
        const made = client.perturb(form, answers, pool.subarray(i * form.bytes, (i + 1) * form.bytes));
        const key = JSON.stringify(Object.values(made.reports)[0]);
        seen[key] = (seen[key] ?? 0) + 1;
      }
    }
    return seen;
  },

  /** What loading each plan says: the factors of its channels, or the error. */
  async load({ plans, options }) {
    const told = async (plan) => {
      try {
        const loaded = await client.loadPlan(plan, options ?? {});
        return { factors: loaded.forms.map(({ channels }) => channels.map(({ factor }) => factor)) };
      } catch (problem) {
        return { error: problem.constructor.name, message: problem.message };
      }
    };
    return Promise.all(plans.map(told));
  },

  /** Steps of one person with a storage that can fail. */
  async person({ plan, steps }) {
    const loaded = await client.loadPlan(plan);
    const kept = {};
    let mode = "works";
    let draws = 0;
    const storage = {
      getItem(key) {
        if (mode === "blocked") throw new Error("blocked");
        return kept[key] ?? null;
      },
      async setItem(key, text) {
        if (mode === "full") throw new Error("quota");
        if (mode !== "forgets") kept[key] = text;
      },
    };
    const random = (count) => {
      draws += 1;
      return client.secureBytes(count);
    };
    const posted = [];
    const results = [];
    for (const step of steps) {
      mode = step.mode ?? mode;
      const person = new client.Respondent(loaded, { storage, random });
      const answers = step.at ?? replies;
      const statuses = [...(step.statuses ?? [])];
      const fetch = async (endpoint, { body }) => {
        posted.push(body);
        const status = statuses.shift() ?? 200;
        if (status === 0) throw new TypeError("no network");
        return { status };
      };
      try {
        const options = { fetch, pause: 1, attempts: step.attempts ?? 4 };
        const given = {
          form: async () => (await person.form()).number,
          report: () => person.report(answers),
          twice: () => Promise.all([person.report(answers), person.report(answers)]),
          send: () => person.send("https://example.org", options),
          sends: () => Promise.all([person.send("x", options), person.send("x", options)]),
          damage: () => Object.keys(kept).map((key) => (kept[key] = step.text)).length,
          kept: () => person.kept(),
        };
        results.push({ value: await given[step.do]() });
      } catch (problem) {
        results.push({ error: problem.constructor.name, line: problem.line ?? null });
      }
    }
    return { results, posted, draws, kept: Object.values(kept) };
  },
};

let replies;
function octets(digits) {
  return Uint8Array.from(Buffer.from(digits, "hex"));
}
for await (const line of createInterface({ input: stdin })) {
  const job = JSON.parse(line);
  replies = job.answers;
  const done = await jobs[job.do](job).then((result) => ({ result }), ({ stack }) => ({ stack }));
  console.log(JSON.stringify(done));
}
