/** Draw the reports of a plan on the device of the person asked. */

/** A plan that is damaged, was tampered with, or has a mechanism that no client can draw. */
export class PlanError extends Error {}
/** An answer that is missing or is none of the values asked for; nothing was drawn. */
export class AnswerError extends Error {}
/** Storage that cannot keep a form or report; nothing is released. */
export class StorageError extends Error {}
/** An endpoint that did not take the line. */
export class SendError extends Error {
  readonly line: Line;
}

/** A value by attribute, written as the plan writes it; attributes that are not asked are ignored. */
export type Answers = Readonly<Record<string, string>>;

/** A value's code, or the codes of a set of values in ascending order. */
export type Report = number | number[];

/** What leaves the device, as one line of JSON. */
export interface Line {
  /** SHA-256 of the wire form of the plan. */
  plan: string;
  /** 16 random bytes in hexadecimal, drawn once: a line that arrives twice counts once. */
  id: string;
  /** The number of the form, from 1. */
  form: number;
  /** One report for each question, where the form has one for each. */
  reports?: Record<string, Report>;
  /** One report of all answers together. */
  report?: number;
}

export interface Question {
  readonly attribute: string;
  readonly values: readonly string[];
}

export interface Channel {
  readonly draw: "direct" | "subset" | "bits" | "matrix";
  /** The number of inputs: values, or cells of all answers together. */
  readonly k: number;
  /** The number of 64-bit words that a report takes. */
  readonly words: number;
  /** e^epsilon: how much a report can change the odds between any two inputs, at most. */
  readonly factor: number;
  perturb(code: number, next: () => bigint): Report;
}

export interface Form {
  /** From 1. */
  readonly number: number;
  /** The running share out of 2^64. */
  readonly until: bigint;
  /** Whether one report stands for all answers together. */
  readonly together: boolean;
  readonly questions: readonly Question[];
  /** One for each question, or one in all. */
  readonly channels: readonly Channel[];
  /** The number of random bytes that the answers take. */
  readonly bytes: number;
}

export interface Plan {
  readonly collection: string;
  readonly forms: readonly Form[];
}

/** Two methods of `localStorage`, which may return promises. */
export interface Keeper {
  getItem(key: string): string | null | Promise<string | null>;
  setItem(key: string, text: string): void | Promise<void>;
}

export interface RespondentOptions {
  /** Where form and report are kept; IndexedDB by default. */
  storage?: Keeper;
  /** Tells people apart who share a storage. */
  person?: string;
  /** Uniform bytes; the device's cryptographic generator by default. */
  random?: (count: number) => Uint8Array;
}

export interface SendOptions {
  attempts?: number;
  /** Milliseconds before the second attempt; doubled before each further one. */
  pause?: number;
  fetch?: typeof globalThis.fetch;
}

/** Return a plan that is ready to draw from; throw a PlanError where its digest does not match. */
export function loadPlan(source: string | object, options?: { collection?: string }): Promise<Plan>;
/** JSON with sorted keys and no blanks, of texts, integers, lists and objects alone. */
export function canonicalJson(value: unknown): string;
/** Return the form that 8 bytes draw. */
export function drawForm(plan: Plan, octets: Uint8Array): Form;
/** Return the codes of answers; throw an AnswerError where one is none of the values. */
export function codesOf(form: Form, answers: Answers): number[];
/** Return what `form.bytes` bytes make of answers. */
export function perturb(
  form: Form,
  answers: Answers,
  octets: Uint8Array,
): { form: number; reports?: Record<string, Report>; report?: number };
/** Return so many bytes of the device's cryptographic generator. */
export function secureBytes(count: number): Uint8Array;
/** A storage that forgets with the page or process. */
export function memoryStorage(): Keeper;

/** One person: a form that is drawn once, and a report that is drawn once. */
export class Respondent {
  constructor(plan: Plan, options?: RespondentOptions);
  form(): Promise<Form>;
  report(answers: Answers): Promise<Line>;
  kept(): Promise<{ line: Line | null; sent: boolean }>;
  send(endpoint: string, options?: SendOptions): Promise<boolean>;
}
