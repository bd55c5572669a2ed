// Draws samples of a client for an audit: the module exports randomise(value, rounds).
import { argv, stdin, stdout } from "node:process";
import { pathToFileURL } from "node:url";

globalThis.crypto ??= (await import("node:crypto")).webcrypto; // Node 18 has it there only
const client = await import(pathToFileURL(argv[2]));
const randomise = client.randomise ?? client.default;
if (typeof randomise !== "function") throw new TypeError("the module must export randomise(value, rounds)");
const chunks = [];
for await (const chunk of stdin) chunks.push(chunk);
const { values, samples, rounds } = JSON.parse(Buffer.concat(chunks));
for (const value of values) {
  const reports = [];
  for (let i = 0; i < samples; i++) reports.push(await randomise(value, rounds));
  stdout.write(`${JSON.stringify(reports)}\n`);
}
