// Draws samples of a client for an audit: the module exports randomise(value, rounds).
// The reports go to a file of their own, a line for each value, so that nothing that the client prints is mistaken for one.
import { closeSync, openSync, readFileSync, writeSync } from "node:fs";
import { argv, exit } from "node:process";
import { pathToFileURL } from "node:url";

const [path, job, answer] = argv.slice(2);
const { values, samples, rounds } = JSON.parse(readFileSync(job));
const output = openSync(answer, "w");

function writeLine(content) {
  let bytes = Buffer.from(`${JSON.stringify(content)}\n`);
  while (bytes.length > 0) bytes = bytes.subarray(writeSync(output, bytes));
}

// The text of a report: different for reports of another type or value.
function exactText(report, outer = []) {
  if (report === null || typeof report === "boolean" || report === undefined) return String(report);
  if (typeof report === "number") return Object.is(report, -0) ? "-0" : String(report);
  if (typeof report === "bigint") return `${report}n`;
  if (typeof report === "string") return JSON.stringify(report);
  if (typeof report !== "object") throw new TypeError(`a report must be data, got a ${typeof report}`);
  if (outer.includes(report)) throw new TypeError("a report must not contain itself");
  const within = [...outer, report];
  const [left, right, ...parts] = vectorTexts(report, within) ?? [];
  if (left !== undefined) return `${left}${parts.join(", ")}${right}`;
  if (report instanceof Map || report instanceof Set) {
    return `${report.constructor.name}${exactText([...report], within)}`;
  }
  if (report instanceof Date) return `Date(${report.getTime()})`;
  if (report instanceof ArrayBuffer) return `ArrayBuffer${exactText(new Uint8Array(report), within)}`;
  const prototype = Object.getPrototypeOf(report);
  if (prototype !== null && prototype !== Object.prototype) {
    throw new TypeError(`a report must be data, got a ${prototype.constructor?.name ?? "class of its own"}`);
  }
  const fields = Object.keys(report).map((key) => `${JSON.stringify(key)}: ${exactText(report[key], within)}`);
  return `{${fields.join(", ")}}`;
}

// The brackets and the texts of the parts of an array; undefined for anything else.
function vectorTexts(report, outer) {
  if (Array.isArray(report)) return ["[", "]", ...Array.from(report, (part, i) => (i in report ? exactText(part, outer) : "a hole"))];
  if (ArrayBuffer.isView(report) && !(report instanceof DataView)) {
    return [`${report.constructor.name}[`, "]", ...Array.from(report, (part) => exactText(part, outer))];
  }
  return undefined;
}

function encoded(report) {
  const isObject = typeof report === "object" && report !== null;
  return (isObject && vectorTexts(report, [report])) || exactText(report);
}

try {
  globalThis.crypto ??= (await import("node:crypto")).webcrypto; // Node 18 has it there only
  const client = await import(pathToFileURL(path));
  const randomise = client.randomise ?? client.default;
  if (typeof randomise !== "function") throw new TypeError("the module must export randomise(value, rounds)");
  for (const value of values) {
    const reports = [];
    for (let i = 0; i < samples; i++) reports.push(encoded(await randomise(value, rounds)));
    writeLine(reports);
  }
} catch (problem) {
  writeLine({ fault: `failed in Node: ${problem instanceof Error ? `${problem.name}: ${problem.message}` : String(problem)}` });
}
closeSync(output);
exit(0); // whatever timers the client has
