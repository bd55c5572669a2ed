/**
 * seepage: draw the reports of a plan on the device of the person asked.
 *
 * Answers never leave this module.  Its output is one line per person: the number of the form that
 * was drawn, and perturbed reports whose probabilities are integers out of 2^64.  docs/wire.md
 * specifies the map from bytes to reports; collection/reference_client.py is the same in Python.
 *
 * Runs in browsers (a secure context: https, localhost or a file) and in Node 20 or newer.
 */

/** The number of 64-bit words: probabilities are integers out of it. */
const SPAN = 1n << 64n;

const WORD_BYTES = 8;

/** The sum of the shares of an attribute by which a person without an answer is given one. */
const PERCENT = 100;

/** The wire forms of plans that this client reads. */
const FORMAT = "seepage collection";
const VERSION = 1;

/** The depth of lists and objects in a wire form, at most. */
const MAX_LEVELS = 20;

/** The label of no answer. */
const MISSING = "(missing)";

/** Answers that are no answer. */
const NO_ANSWER = ["", "NaN", "nan", MISSING];

/** Booleans as Python and R write them, and as plans label them. */
const BOOLEANS = { True: "true", TRUE: "true", False: "false", FALSE: "false" };

const NUMBER = /^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]{1,9})?$/i;
const INFINITE = /^([+-]?)inf(inity)?$/i;

/** Blanks as Python strips them from the ends of a text. */
const BLANK = "[\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]+";
const BLANKS = new RegExp(`^${BLANK}|${BLANK}$`, "g");

/** Date, time of day, decimals of a second and time zone: all but the time may be absent. */
const MOMENT = /^(?:([0-9]{4}-[0-9]{2}-[0-9]{2})[T ])?([0-9]{2}:[0-9]{2}:[0-9]{2})(\.[0-9]+)?(Z|[+-][0-9]{2}(?::?[0-9]{2}(?::?[0-9]{2})?)?)?$/;

/** Sign, hours, minutes and seconds of a time zone, without colons or with them. */
const ZONE = /^([+-])([0-9]{2})(?:([0-9]{2})([0-9]{2})?|:([0-9]{2})(?::([0-9]{2}))?)?$/;

/** A plan that is damaged, was edited, or has a mechanism that clients cannot draw. */
export class PlanError extends Error {}

/** An answer that is missing or not one of the attribute's values; nothing was drawn. */
export class AnswerError extends Error {}

/** Storage that cannot keep a form or report; nothing is released. */
export class StorageError extends Error {}

/** A line that the endpoint did not accept; `line` holds it, so that it can be saved as a file. */
export class SendError extends Error {
  constructor(message, line) {
    super(message);
    this.line = line;
  }
}

// Plans --------------------------------------------------------------------------------------------

/**
 * Return a checked plan; throw a PlanError if its wire form does not match its digest.
 * The digest in the file detects damage, but whoever edits the file can also compute it.  Pass a
 * trusted digest as `collection` to accept that plan and no other.
 */
export async function loadPlan(source, { collection } = {}) {
  const file = typeof source === "string" ? parseJson(source) : source;
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

/** Return the forms of a wire form, in the order in which words draw them. */
function readForms(wire) {
  try {
    const attributes = new Map(wire.attributes.map((each) => [each.name, readAttribute(each)]));
    const ends = wire.forms.map(({ until }) => integer(until));
    if (!ends.every((end, i) => end > (ends[i - 1] ?? 0n)) || ends.at(-1) !== SPAN) {
      throw new PlanError("the shares of forms must rise to 2^64");
    }
    return wire.forms.map((form, i) => readForm(form, i + 1, ends[i], attributes));
  } catch (cause) {
    if (cause instanceof PlanError) throw cause;
    throw new PlanError("the wire form of the plan is damaged", { cause });
  }
}

/**
 * Return a form: its questions, and the channels from their answers to reports, one channel for all
 * answers `together` or one for each.  `until` is the end of its share of the words that draw a form.
 */
function readForm(form, number, until, attributes) {
  const together = form.type === "matrix";
  if (!together && form.type !== "product") throw new PlanError("a form must be product or matrix");
  const names = together ? form.attributes : form.questions.map(({ attribute }) => attribute);
  if (!names.length || names.some((name) => !attributes.has(name)) || new Set(names).size < names.length) {
    throw new PlanError("a form must ask for distinct attributes of the plan");
  }
  const questions = names.map((name) => attributes.get(name));
  const cells = questions.reduce((product, question) => product * question.values.length, 1);
  const channels = together
    ? [readChannel({ ...form, draw: "matrix" }, cells)]
    : form.questions.map((question, i) => readChannel(question, questions[i].values.length));
  const openQuestions = questions.filter(({ open }) => open).length;
  const words = channels.reduce((sum, channel) => sum + channel.words, openQuestions);
  return Object.freeze({
    number,
    until,
    together,
    questions: Object.freeze(questions),
    channels: Object.freeze(channels),
    bytes: WORD_BYTES * words,
  });
}

/** Return the channel of k values: how many words a report takes, and how they draw it. */
function readChannel(channel, k) {
  const known = Object.hasOwn(CHANNELS, channel.draw);
  if (!known) throw new PlanError(`a client cannot draw reports of ${channel.mechanism}`);
  if (channel.k !== undefined && channel.k !== k) {
    throw new PlanError("a mechanism must have as many values as its attribute");
  }
  return Object.freeze({ draw: channel.draw, k, ...CHANNELS[channel.draw](channel, k) });
}

function parseJson(text) {
  try {
    return JSON.parse(text);
  } catch {
    throw new PlanError("a plan must be JSON");
  }
}

/** JSON with sorted keys and no blanks; only strings, integers, arrays and objects. */
export function canonicalJson(value, levels = MAX_LEVELS) {
  if (levels === 0) throw new PlanError(`a wire form must have at most ${MAX_LEVELS} levels`);
  const inner = (part) => canonicalJson(part, levels - 1);
  if (Array.isArray(value)) return `[${value.map(inner).join(",")}]`;
  if (value !== null && typeof value === "object") {
    const fields = Object.keys(value).sort();
    return `{${fields.map((key) => `${JSON.stringify(key)}:${inner(value[key])}`).join(",")}}`;
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

/** Return a probability as an integer out of 2^64. */
function integer(text) {
  if (typeof text !== "string" || !/^(0|[1-9][0-9]{0,19})$/.test(text) || BigInt(text) > SPAN) {
    throw new PlanError("a probability must be an integer out of 2^64, as decimal digits");
  }
  return BigInt(text);
}

// Attributes and answers --------------------------------------------------------------------------

/**
 * Return an attribute: its name and values, `open`, `code` and `give`.
 *
 * `code(answer)` is the index of the value that an answer has, undefined if it has none:
 * that of the answer's text or of its label, among the values and the `merged` labels;
 * for a number between `edges` that of its bin;
 * or else `other`, if the attribute has such a value.
 *
 * With `shares` the question is `open`: a person may have no answer, whose code is the number of
 * values.  `give(code, next)` is the answer that is reported of: for none, one drawn by the shares.
 */
function readAttribute({ name, values, edges = [], merged = [], other, shares }) {
  const areTexts = Array.isArray(values) && values.every((value) => typeof value === "string");
  if (!areTexts || !values.length || new Set(values).size !== values.length) {
    throw new PlanError("the values of an attribute must be distinct texts");
  }
  const open = shares !== undefined;
  const labels = open ? [...values, MISSING] : values;
  const codes = new Map([...merged, ...labels.map((value, code) => [value, code])]);
  const ends = edges.map(numberOf);
  const firstBin = values[0] === MISSING ? 1 : 0;
  const lastBin = firstBin + Math.max(ends.length - 2, 0);
  const used = [...codes.values(), other ?? 0, lastBin];
  if (used.some((code) => !Number.isInteger(code) || labels[code] === undefined)) {
    throw new PlanError("a code must be that of a value");
  }
  const code = (answer) => {
    const text = answerText(answer);
    if (text === undefined) return undefined;
    const { label, number } = answerKey(text);
    const known = [text, label].find((each) => codes.has(each));
    if (known !== undefined) return codes.get(known);
    const isInBin = number >= ends[0] && number <= ends.at(-1);
    if (!isInBin) return other;
    return firstBin + ends.slice(1, -1).filter((end) => end <= number).length;
  };
  const give = open ? answerByShares(shares, values.length) : (own) => own;
  return Object.freeze({ attribute: name, values: Object.freeze([...values]), open, code, give });
}

/** Return what draws the answer that is reported of: one's own, or, without one, by the shares. */
function answerByShares(shares, k) {
  const valid = Array.isArray(shares) && shares.every((share) => Number.isInteger(share) && share >= 0);
  if (!valid || shares.length !== k || shares.reduce((sum, share) => sum + share) !== PERCENT) {
    throw new PlanError("the shares of an attribute must be whole percents of its values");
  }
  let sum = 0;
  const ends = shares.map((share) => (sum += share));
  return (code, next) => {
    const percent = Number((BigInt(PERCENT) * next()) >> 64n);
    return code < k ? code : ends.findIndex((end) => percent < end);
  };
}

/** An answer as text; undefined if it is no text, number or boolean. */
function answerText(answer) {
  if (answer === null || Number.isNaN(answer)) return MISSING;
  if (typeof answer === "boolean") return String(answer);
  if (typeof answer === "number") return numberText(answer);
  return typeof answer === "string" ? answer : undefined;
}

/**
 * A text as plans label it, and the number that it is, NaN if none: without blanks around it, numbers
 * that doubles can represent in their shortest form, moments in UTC.
 */
function answerKey(text) {
  const word = text.replace(BLANKS, "");
  if (NO_ANSWER.includes(word)) return { label: MISSING, number: NaN };
  if (NUMBER.test(word) || INFINITE.test(word)) return numberKey(word);
  const label = Object.hasOwn(BOOLEANS, word) ? BOOLEANS[word] : momentLabel(word);
  return { label, number: NaN };
}

/**
 * The label of a number and the number itself.  From 2^53 on, digits that no double equals are a text:
 * their label is as they are written, without zeros at the end of decimals, and the number NaN.
 */
function numberKey(word) {
  const number = numberOf(word);
  const scientific = /e/i.test(word);
  const written = scientific ? String(number) : numberText(number);
  if (Math.abs(number) < 2 ** 53 || INFINITE.test(word) || sameDecimal(written, word)) {
    return { label: numberText(number), number };
  }
  const label = scientific || !word.includes(".") ? word : word.replace(/0+$/, "").replace(/\.$/, "");
  return { label, number: NaN };
}

/** Whether two decimal numbers are equal, in all their digits. */
function sameDecimal(first, second) {
  return decimal(first) === decimal(second);
}

/** The sign, digits and exponent of a decimal number, without zeros at either end. */
function decimal(text) {
  const match = /^([+-]?)([0-9]*)\.?([0-9]*)(?:e([+-]?[0-9]+))?$/i.exec(text);
  if (!match) return undefined;
  const [, sign, whole, fraction, exponent = "0"] = match;
  const digits = (whole + fraction).replace(/^0+/, "");
  const significant = digits.replace(/0+$/, "");
  const power = Number(exponent) - fraction.length + digits.length - significant.length;
  return `${sign === "-" ? "-" : ""}${significant}e${significant ? power : 0}`;
}

/** A date and time as plans label it: shortest form, in UTC if it has a time zone; or the text itself. */
function momentLabel(text) {
  const match = MOMENT.exec(text);
  if (!match) return text;
  const [, date = "", clock, decimals = "", zoneWritten = ""] = match;
  const fraction = decimals.replace(/0+$/, "").replace(/\.$/, "");
  const offset = zoneSeconds(zoneWritten);
  const utc = date && offset !== undefined ? utcText(date, clock, offset) : undefined;
  if (utc !== undefined) return `${utc}${fraction}+00:00`;
  const zone = offset === undefined ? zoneWritten : zoneText(offset);
  if (date && clock + fraction + zone === "00:00:00") return date;
  return `${date}${date ? "T" : ""}${clock}${fraction}${zone}`;
}

/** The seconds that a time zone is before UTC; undefined for none. */
function zoneSeconds(text) {
  if (text === "Z") return 0;
  const match = ZONE.exec(text);
  if (!match) return undefined;
  const [, sign, hours, bareMinutes, bareSeconds, colonMinutes, colonSeconds] = match;
  const minutes = Number(bareMinutes ?? colonMinutes ?? 0);
  const seconds = Number(bareSeconds ?? colonSeconds ?? 0);
  const offset = 3600 * Number(hours) + 60 * minutes + seconds;
  if (offset >= 86400) return undefined;
  return sign === "-" ? -offset : offset;
}

/** A time zone as plans label it, from its seconds: hours, minutes, and seconds if there are any. */
function zoneText(offset) {
  const size = Math.abs(offset);
  const parts = [Math.floor(size / 3600), Math.floor(size / 60) % 60, size % 60];
  const shown = parts[2] ? parts : parts.slice(0, 2);
  return (offset < 0 ? "-" : "+") + shown.map((part) => String(part).padStart(2, "0")).join(":");
}

/** A local time in UTC; undefined if there is no such time, from the year 1 to 9999. */
function utcText(date, clock, offset) {
  const [year, month, day] = date.split("-").map(Number);
  const [hours, minutes, seconds] = clock.split(":").map(Number);
  if (year < 1 || hours > 23 || minutes > 59 || seconds > 59) return undefined;
  const moment = new Date(0);
  moment.setUTCFullYear(year, month - 1, day);
  if (moment.getUTCMonth() !== month - 1 || moment.getUTCDate() !== day) return undefined;
  moment.setUTCHours(hours, minutes, seconds - offset);
  const text = moment.toISOString();
  return /^[0-9]{4}-/.test(text) && moment.getUTCFullYear() > 0 ? text.slice(0, 19) : undefined;
}

/** A number as plans label it: an integer below 2^64 in full, else as Python writes a float. */
function numberText(number) {
  if (!Number.isFinite(number)) return number > 0 ? "inf" : "-inf";
  if (Number.isInteger(number) && Math.abs(number) < 2 ** 64) return BigInt(number).toString();
  const [digits, exponent] = number.toExponential().split("e");
  if (exponent >= -4 && exponent < 16) return String(number);
  return `${digits}e${exponent[0]}${exponent.slice(1).padStart(2, "0")}`;
}

/** The number that a text is, NaN if none. */
function numberOf(text) {
  const infinite = INFINITE.exec(text);
  if (infinite) return infinite[1] === "-" ? -Infinity : Infinity;
  return NUMBER.test(text) ? Number(text) : NaN;
}

// Channels -----------------------------------------------------------------------------------------
// Each draw takes a fixed number of 64-bit words from `next()`.  `factor` = e^epsilon is the largest
// ratio of the probabilities of one report under two answers: the maximum change of their odds.

const CHANNELS = {
  /** The value with probability `keep`, else one uniform over all k values. */
  direct(channel, k) {
    const keep = integer(channel.keep);
    const rest = SPAN - keep;
    const other = rest / BigInt(k);
    return {
      words: 1,
      factor: k === 1 ? 1 : ratio(keep + other, other),
      perturb(code, next) {
        const word = next();
        return word < keep ? code : Number(((word - keep) * BigInt(k)) / rest);
      },
    };
  },

  /** A subset that contains the value with probability `force`; others by Fisher and Yates. */
  subset(channel, k) {
    const force = integer(channel.force);
    const size = channel.size;
    if (!Number.isInteger(size) || size < 1 || size > k) {
      throw new PlanError("the size of a subset must be an integer from 1 to k");
    }
    const unforced = (SPAN - force) * BigInt(size);
    return {
      words: 1 + size,
      factor: ratio(unforced + force * BigInt(k), unforced),
      perturb(code, next) {
        const values = Array.from({ length: k }, (_, value) => value);
        const taken = next() < force ? 1 : 0;
        if (taken) [values[0], values[code]] = [values[code], values[0]];
        for (let index = 0; index < size; index++) {
          const word = next();
          if (index < taken) continue;
          const other = index + Number((word * BigInt(k - index)) >> 64n);
          [values[index], values[other]] = [values[other], values[index]];
        }
        return values.slice(0, size).sort((a, b) => a - b);
      },
    };
  },

  /** The bit of the value is set with probability `true`, each other bit with `other`. */
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

  /** The output by the cumulative probabilities of the value's row. */
  matrix(channel, k) {
    const rows = channel.thresholds.map((row) => row.map(integer));
    const ends = rows.map((row) => {
      let sum = 0n;
      return row.map((probability) => (sum += probability));
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

/** The ratio of two probabilities; 1 if both are 0. */
function ratio(high, low) {
  if (low === 0n) return high === 0n ? 1 : Infinity;
  return Number(high) / Number(low);
}

/** The ratio of the largest to the smallest probability of one output. */
function columnRatio(column) {
  const smaller = column.reduce((a, b) => (a < b ? a : b));
  return ratio(column.reduce((a, b) => (a > b ? a : b)), smaller);
}

// From bytes to reports ----------------------------------------------------------------------------

/** Return a function whose calls return the words of the bytes, one after the other. */
function wordsOf(octets, count) {
  if (octets.length !== WORD_BYTES * count) {
    throw new RangeError(`there must be ${WORD_BYTES * count} bytes, got ${octets.length}`);
  }
  const view = new DataView(octets.buffer, octets.byteOffset, octets.byteLength);
  let index = 0;
  return () => view.getBigUint64(WORD_BYTES * index++, true);
}

/** Return the form that 8 bytes draw: the first whose cumulative share is above the word. */
export function drawForm(plan, octets) {
  const word = wordsOf(octets, 1)();
  return plan.forms.find(({ until }) => word < until);
}

/** Return the codes of the answers to a form; throw an AnswerError for an invalid one. */
export function codesOf(form, answers) {
  return form.questions.map((question) => {
    const { attribute } = question;
    const hasAnswer = answers !== null && typeof answers === "object" && Object.hasOwn(answers, attribute);
    const code = hasAnswer ? question.code(answers[attribute]) : undefined;
    if (code === undefined) throw new AnswerError(`the answer to ${attribute} must be one of its values`);
    return code;
  });
}

/** Return the reports of answers, drawn by `form.bytes` bytes: `{form, reports}` or `{form, report}`. */
export function perturb(form, answers, octets) {
  const own = codesOf(form, answers);
  const next = wordsOf(octets, form.bytes / WORD_BYTES);
  const codes = form.questions.map(({ give }, i) => give(own[i], next));
  if (form.together) {
    const cell = codes.reduce((sum, code, i) => sum * form.questions[i].values.length + code, 0);
    return { form: form.number, report: form.channels[0].perturb(cell, next) };
  }
  const reports = form.questions.map(({ attribute }, i) => [
    attribute,
    form.channels[i].perturb(codes[i], next),
  ]);
  return { form: form.number, reports: Object.fromEntries(reports) };
}

/** Return `count` bytes of the device's cryptographic generator. */
export function secureBytes(count) {
  const octets = new Uint8Array(count);
  for (let start = 0; start < count; start += 65536) {
    crypto.getRandomValues(octets.subarray(start, start + 65536));
  }
  return octets;
}

// One person ---------------------------------------------------------------------------------------

/**
 * One person, whose form and report are drawn once.
 *
 * Both are stored in `storage` before they are returned, so that a later call, a second tab or a
 * retry gives the same line and reveals nothing more.  True answers are never stored.
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

  /** The person's form, drawn by the first call. */
  async form() {
    const { form } = await this.#update((kept) => kept);
    return this.#plan.forms[form - 1];
  }

  /** The line to send, drawn by the first call; later calls return the first line. */
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

  /** The stored line, null before `report`, and whether an endpoint has accepted it. */
  async kept() {
    const { line, sent } = await this.#update((kept) => kept);
    return { line, sent };
  }

  /**
   * Send the stored line, the same at every attempt; true if this call sent it, false if it was
   * sent before.  Throws a SendError with the line after the last attempt.
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

  /** Apply a change to the stored state, one at a time on this device; return the new state. */
  async #update(change) {
    return exclusively(this.#key, async () => {
      const before = await this.#read();
      const after = change(before ?? this.#fresh());
      if (after !== before) await this.#write(after);
      return after;
    });
  }

  /** The state before the first report: a form and an identifier, drawn at random. */
  #fresh() {
    const form = drawForm(this.#plan, this.#random(WORD_BYTES)).number;
    return { form, id: hex(this.#random(16)), line: null, sent: false };
  }

  /** The stored state, null for none; throw a StorageError for one that is damaged. */
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

  /** Store the state, and read it back. */
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

// Storage ------------------------------------------------------------------------------------------

/** A storage that lasts as long as the page or process: a later session draws fresh noise. */
export function memoryStorage() {
  const kept = new Map();
  return {
    getItem: (key) => kept.get(key) ?? null,
    setItem: (key, text) => void kept.set(key, text),
  };
}

/**
 * IndexedDB, whose transactions are visible to all tabs at once.  localStorage is copied between
 * tabs with a delay, in which a second tab would draw once more.
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
    for (const failure of ["error", "abort", "blocked"]) {
      event.addEventListener(failure, () => reject(event.error ?? new Error(failure)));
    }
  });
}

const lastTasks = new Map();

/** Run a task under a lock: across tabs (Web Locks), or else among the calls of this module. */
async function exclusively(name, task) {
  if (globalThis.navigator?.locks) return navigator.locks.request(name, task);
  const queued = (lastTasks.get(name) ?? Promise.resolve()).then(task, task);
  lastTasks.set(name, queued);
  return queued;
}

// Sending ------------------------------------------------------------------------------------------

/** Send a line until it is accepted, with growing pauses; throw a SendError if it never is. */
async function post(endpoint, line, attempts, pause, fetch) {
  for (let attempt = 1; attempt <= attempts; attempt++) {
    if (attempt > 1) await new Promise((resolve) => setTimeout(resolve, pause * 2 ** (attempt - 2)));
    const status = await statusOf(endpoint, line, fetch);
    if (status >= 200 && status < 300) return;
    const permanent = status >= 400 && status < 500 && status !== 408 && status !== 429;
    if (permanent) throw new SendError(`the endpoint rejected the report (${status})`, line);
  }
  throw new SendError("the endpoint cannot be reached", line);
}

/** The status of one attempt to send a line; 0 if there was no answer. */
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
