/**
 * seepage: draw the reports of a plan on the device of the person asked.
 *
 * Answers never leave this module.  What leaves it is one line per person: the number of the form
 * that was drawn, and noisy reports whose chances are integers out of 2^64.  docs/wire.md says how
 * bytes become a report; the reference in Python is seepage.collection.wire_draws.
 *
 * Runs in browsers (a secure context: https, localhost or a file) and in Node 20 or newer.
 */

const SPAN = 1n << 64n;
const WORD_BYTES = 8;
const FORMAT = "seepage collection";
const VERSION = 1;

/** A plan that is damaged, was tampered with, or has a mechanism that no client can draw. */
export class PlanError extends Error {}

/** An answer that is missing or is none of the values asked for; nothing was drawn. */
export class AnswerError extends Error {}

/** Storage that cannot keep a form or report; nothing is released. */
export class StorageError extends Error {}

/** An endpoint that did not take the line, which `line` holds: it can be saved as a file. */
export class SendError extends Error {
  constructor(message, line) {
    super(message);
    this.line = line;
  }
}

// Plans --------------------------------------------------------------------------------------------

/**
 * Return a plan that is ready to draw from; throw a PlanError where it is not what its digest says.
 * The digest in the file guards against damage; whoever edits the file can also compute it.  Pass
 * the digest that you trust as `collection` to accept that plan and no other.
 */
export async function loadPlan(source, { collection } = {}) {
  const file = typeof source === "string" ? parsed(source) : source;
  const wire = file?.wire;
  if (wire?.format !== FORMAT || wire.version !== VERSION) {
    throw new PlanError(`a plan must have a wire form of version ${VERSION}`);
  }
  const digest = await sha256(canonicalJson(wire));
  if (digest !== file.collection || (collection !== undefined && digest !== collection)) {
    throw new PlanError("the plan was edited: its wire form does not match its digest");
  }
  return Object.freeze({ collection: digest, forms: Object.freeze(readForms(wire)) });
}

function readForms(wire) {
  try {
    const values = new Map(wire.attributes.map((given) => [given.name, checkedValues(given.values)]));
    const ends = wire.forms.map(({ until }) => integer(until));
    if (!ends.every((end, i) => end > (ends[i - 1] ?? 0n)) || ends.at(-1) !== SPAN) {
      throw new PlanError("the shares of forms must rise to 2^64");
    }
    return wire.forms.map((form, i) => readForm(form, i + 1, ends[i], values));
  } catch (cause) {
    if (cause instanceof PlanError) throw cause;
    throw new PlanError("the wire form of the plan is damaged", { cause });
  }
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    throw new PlanError("a plan must be JSON");
  }
}

/** JSON with sorted keys and no blanks, of texts, integers, lists and objects alone. */
export function canonicalJson(value) {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (value !== null && typeof value === "object") {
    const fields = Object.keys(value).sort();
    return `{${fields.map((key) => `${JSON.stringify(key)}:${canonicalJson(value[key])}`).join(",")}}`;
  }
  if (typeof value === "string" || Number.isSafeInteger(value)) return JSON.stringify(value);
  throw new PlanError("a wire form must hold texts, integers and lists only");
}

async function sha256(text) {
  if (!globalThis.crypto?.subtle) {
    throw new PlanError("digests need a secure context: open the page by https, or as a file");
  }
  const octets = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return hex(new Uint8Array(octets));
}

function hex(octets) {
  return Array.from(octets, (octet) => octet.toString(16).padStart(2, "0")).join("");
}

function integer(text) {
  if (typeof text !== "string" || !/^(0|[1-9][0-9]{0,19})$/.test(text) || BigInt(text) > SPAN) {
    throw new PlanError("a chance must be an integer out of 2^64, as decimal digits");
  }
  return BigInt(text);
}

function checkedValues(values) {
  const texts = Array.isArray(values) && values.every((value) => typeof value === "string");
  if (!texts || !values.length || new Set(values).size !== values.length) {
    throw new PlanError("the values of an attribute must be texts, each of them once");
  }
  return Object.freeze([...values]);
}

function readForm(form, number, until, values) {
  const together = form.type === "matrix";
  if (!together && form.type !== "product") throw new PlanError("a form must be product or matrix");
  const names = together ? form.attributes : form.questions.map(({ attribute }) => attribute);
  if (!names.length || names.some((name) => !values.has(name)) || new Set(names).size < names.length) {
    throw new PlanError("a form must ask for attributes of the plan, each of them once");
  }
  const questions = names.map((name) => Object.freeze({ attribute: name, values: values.get(name) }));
  const cells = questions.reduce((product, question) => product * question.values.length, 1);
  const channels = together
    ? [readChannel({ ...form, draw: "matrix" }, cells)]
    : form.questions.map((question, i) => readChannel(question, questions[i].values.length));
  const words = channels.reduce((sum, channel) => sum + channel.words, 0);
  return Object.freeze({
    number,
    until,
    together,
    questions: Object.freeze(questions),
    channels: Object.freeze(channels),
    bytes: WORD_BYTES * words,
  });
}

function readChannel(channel, k) {
  const read = CHANNELS[channel.draw];
  if (!read) throw new PlanError(`a client cannot draw reports of ${channel.mechanism}`);
  if (channel.k !== undefined && channel.k !== k) {
    throw new PlanError("a mechanism must have as many values as its attribute");
  }
  return Object.freeze({ draw: channel.draw, k, ...read(channel, k) });
}

// Channels -----------------------------------------------------------------------------------------
// Each takes a fixed number of 64-bit words; `next()` gives the next one.  `factor` is the largest
// ratio of two chances of one report: how much it can change the odds between any two answers.

const CHANNELS = {
  /** Keep the value with chance `keep`; spread the other words over all values. */
  direct(channel, k) {
    const keep = integer(channel.keep);
    const rest = SPAN - keep;
    const least = rest / BigInt(k);
    return {
      words: 1,
      factor: k === 1 ? 1 : ratio(keep + least, least),
      perturb(code, next) {
        const word = next();
        return word < keep ? code : Number(((word - keep) * BigInt(k)) / rest);
      },
    };
  },

  /** Put the value in with chance `force`; choose the others by steps of Fisher and Yates. */
  subset(channel, k) {
    const force = integer(channel.force);
    const size = channel.size;
    if (!Number.isInteger(size) || size < 1 || size > k) {
      throw new PlanError("the size of a subset must be an integer from 1 to k");
    }
    const left = (SPAN - force) * BigInt(size);
    return {
      words: 1 + size,
      factor: ratio(left + force * BigInt(k), left),
      perturb(code, next) {
        const row = Array.from({ length: k }, (_, value) => value);
        const taken = next() < force ? 1 : 0;
        if (taken) [row[0], row[code]] = [row[code], row[0]];
        for (let place = 0; place < size; place++) {
          const word = next();
          if (place < taken) continue;
          const chosen = place + Number((word * BigInt(k - place)) >> 64n);
          [row[place], row[chosen]] = [row[chosen], row[place]];
        }
        return row.slice(0, size).sort((a, b) => a - b);
      },
    };
  },

  /** Set the bit of the value with chance `true`, each other bit with chance `other`. */
  bits(channel, k) {
    const isTrue = integer(channel.true);
    const other = integer(channel.other);
    return {
      words: k,
      factor: k === 1 ? 1 : ratio(isTrue * (SPAN - other), other * (SPAN - isTrue)),
      perturb(code, next) {
        const set = [];
        for (let value = 0; value < k; value++) {
          if (next() < (value === code ? isTrue : other)) set.push(value);
        }
        return set;
      },
    };
  },

  /** Look the word up in the running sums of the value's row of chances. */
  matrix(channel, k) {
    const rows = channel.thresholds.map((row) => row.map(integer));
    const ends = rows.map((row) => {
      let sum = 0n;
      return row.map((chance) => (sum += chance));
    });
    if (ends.length !== k || ends.some((row) => row.length !== ends[0].length || row.at(-1) !== SPAN)) {
      throw new PlanError("a matrix must have one row for each value, each with the sum 2^64");
    }
    return {
      words: 1,
      factor: Math.max(...rows[0].map((_, output) => columnRatio(rows.map((row) => row[output])))),
      perturb(code, next) {
        const word = next();
        return ends[code].findIndex((end) => word < end);
      },
    };
  },
};

function ratio(high, low) {
  if (low === 0n) return high === 0n ? 1 : Infinity;
  return Number(high) / Number(low);
}

function columnRatio(column) {
  const smaller = column.reduce((a, b) => (a < b ? a : b));
  return ratio(column.reduce((a, b) => (a > b ? a : b)), smaller);
}

// From bytes to reports ----------------------------------------------------------------------------

function wordsOf(octets, count) {
  if (octets.length !== WORD_BYTES * count) {
    throw new RangeError(`there must be ${WORD_BYTES * count} bytes, got ${octets.length}`);
  }
  const view = new DataView(octets.buffer, octets.byteOffset, octets.byteLength);
  let place = 0;
  return () => view.getBigUint64(WORD_BYTES * place++, true);
}

/** Return the form that 8 bytes draw: the first whose running share is above the word. */
export function drawForm(plan, octets) {
  const word = wordsOf(octets, 1)();
  return plan.forms.find(({ until }) => word < until);
}

/** Return the codes of answers by attribute; throw an AnswerError before anything is drawn. */
export function codesOf(form, answers) {
  return form.questions.map(({ attribute, values }) => {
    const given = answers !== null && typeof answers === "object" && Object.hasOwn(answers, attribute);
    const code = given ? values.indexOf(answers[attribute]) : -1;
    if (code < 0) throw new AnswerError(`the answer to ${attribute} must be one of its values`);
    return code;
  });
}

/** Return what `form.bytes` bytes make of answers: `{form, reports}` or `{form, report}`. */
export function perturb(form, answers, octets) {
  const codes = codesOf(form, answers);
  const next = wordsOf(octets, form.bytes / WORD_BYTES);
  if (form.together) {
    const cell = codes.reduce((sum, code, i) => sum * form.questions[i].values.length + code, 0);
    return { form: form.number, report: form.channels[0].perturb(cell, next) };
  }
  const drawn = form.questions.map(({ attribute }, i) => [
    attribute,
    form.channels[i].perturb(codes[i], next),
  ]);
  return { form: form.number, reports: Object.fromEntries(drawn) };
}

/** Return so many bytes of the device's cryptographic generator. */
export function secureBytes(count) {
  const octets = new Uint8Array(count);
  for (let begin = 0; begin < count; begin += 65536) {
    crypto.getRandomValues(octets.subarray(begin, begin + 65536));
  }
  return octets;
}

// One person ---------------------------------------------------------------------------------------

/**
 * One person: a form that is drawn once, and a report that is drawn once.
 *
 * Both are kept in `storage` before they are shown to the caller, so that asking again, a second
 * tab or a retry give the same line and reveal nothing more.  True answers are never kept.
 */
export class Respondent {
  #plan;
  #storage;
  #random;
  #key;

  constructor(plan, { storage = deviceStorage(), person = "", random = secureBytes } = {}) {
    this.#plan = plan;
    this.#storage = storage;
    this.#random = random;
    this.#key = `seepage:${plan.collection}:${person}`;
  }

  /** The person's form, drawn at the first call. */
  async form() {
    const { form } = await this.#update((kept) => kept);
    return this.#plan.forms[form - 1];
  }

  /** The line to send, drawn at the first call; later answers give the first line again. */
  async report(answers) {
    codesOf(await this.form(), answers);
    const { line } = await this.#update((kept) => {
      if (kept.line) return kept;
      const form = this.#plan.forms[kept.form - 1];
      const drawn = perturb(form, answers, this.#random(form.bytes));
      return { ...kept, line: { plan: this.#plan.collection, id: kept.id, ...drawn } };
    });
    return line;
  }

  /** What is kept: the line, or null before `report`, and whether an endpoint has taken it. */
  async kept() {
    const { line, sent } = await this.#update((kept) => kept);
    return { line, sent };
  }

  /**
   * Send the kept line, the same at every attempt; true where this call sent it, false where it had
   * been sent before.  Throws a SendError with the line after the last attempt.
   */
  async send(endpoint, { attempts = 4, pause = 1000, fetch = globalThis.fetch } = {}) {
    return exclusively(`${this.#key}:send`, async () => {
      const { line, sent } = await this.kept();
      if (!line) throw new AnswerError("there is no report to send: call report first");
      if (sent) return false;
      await post(endpoint, line, attempts, pause, fetch);
      await this.#update((kept) => ({ ...kept, sent: true }));
      return true;
    });
  }

  /** Apply a change to what is kept, one at a time on this device; return it as it is kept. */
  async #update(change) {
    return exclusively(this.#key, async () => {
      const before = await this.#read();
      const after = change(before ?? this.#fresh());
      if (after !== before) await this.#write(after);
      return after;
    });
  }

  #fresh() {
    const form = drawForm(this.#plan, this.#random(WORD_BYTES)).number;
    return { form, id: hex(this.#random(16)), line: null, sent: false };
  }

  async #read() {
    let kept;
    try {
      const text = await this.#storage.getItem(this.#key);
      if (text === null || text === undefined) return null;
      kept = JSON.parse(text);
    } catch (cause) {
      throw new StorageError("what was kept cannot be read; nothing is released", { cause });
    }
    const known = Number.isInteger(kept?.form) && this.#plan.forms[kept.form - 1] && kept.id;
    if (!known) throw new StorageError("what was kept is damaged; nothing is released");
    return kept;
  }

  async #write(kept) {
    const text = JSON.stringify(kept);
    try {
      await this.#storage.setItem(this.#key, text);
      if ((await this.#storage.getItem(this.#key)) === text) return;
    } catch (cause) {
      throw new StorageError("the storage is full or blocked; nothing is released", { cause });
    }
    throw new StorageError("the storage does not keep what it is given; nothing is released");
  }
}

/** A storage that forgets with the page or process: asking again later draws fresh noise. */
export function memoryStorage() {
  const kept = new Map();
  return {
    getItem: (key) => kept.get(key) ?? null,
    setItem: (key, text) => void kept.set(key, text),
  };
}

/**
 * IndexedDB: what a transaction has stored is what every tab reads from then on.  localStorage is
 * copied between tabs with a delay, in which a second tab would draw once more.
 */
function deviceStorage() {
  let factory;
  try {
    factory = globalThis.indexedDB;
  } catch (cause) {
    throw new StorageError("the storage of this browser is blocked", { cause });
  }
  if (!factory) throw new StorageError("there is no IndexedDB here: give a storage");
  let opened;
  const database = () => (opened ??= openDatabase(factory));
  return {
    getItem: async (key) => {
      const kept = (await database()).transaction("kept").objectStore("kept");
      return done(kept.get(key), "success");
    },
    setItem: async (key, text) => {
      const change = (await database()).transaction("kept", "readwrite", { durability: "strict" });
      change.objectStore("kept").put(text, key);
      await done(change, "complete");
    },
  };
}

function openDatabase(factory) {
  const request = factory.open("seepage", 1);
  request.onupgradeneeded = () => request.result.createObjectStore("kept");
  return done(request, "success");
}

/** Wait for a request or transaction of IndexedDB; return the request's result. */
function done(event, name) {
  return new Promise((resolve, reject) => {
    event.addEventListener(name, () => resolve(event.result));
    for (const bad of ["error", "abort", "blocked"]) {
      event.addEventListener(bad, () => reject(event.error ?? new Error(bad)));
    }
  });
}

const waiting = new Map();

/** Run a task while no other tab (Web Locks), or no other call here, runs one of this name. */
async function exclusively(name, task) {
  if (globalThis.navigator?.locks) return navigator.locks.request(name, task);
  const turn = (waiting.get(name) ?? Promise.resolve()).then(task, task);
  waiting.set(name, turn);
  return turn;
}

async function post(endpoint, line, attempts, pause, fetch) {
  for (let attempt = 1; attempt <= attempts; attempt++) {
    if (attempt > 1) await new Promise((go) => setTimeout(go, pause * 2 ** (attempt - 2)));
    const status = await statusOf(endpoint, line, fetch);
    if (status >= 200 && status < 300) return;
    const hopeless = status >= 400 && status < 500 && status !== 408 && status !== 429;
    if (hopeless) throw new SendError(`the endpoint refused the report (${status})`, line);
  }
  throw new SendError("the endpoint cannot be reached", line);
}

async function statusOf(endpoint, line, fetch) {
  try {
    const response = await fetch(endpoint, {
      method: "POST",
      headers: { "Content-Type": "text/plain;charset=UTF-8" },
      body: `${JSON.stringify(line)}\n`,
      credentials: "omit",
      referrerPolicy: "no-referrer",
      cache: "no-store",
      redirect: "error",
    });
    return response.status;
  } catch {
    return 0;
  }
}
