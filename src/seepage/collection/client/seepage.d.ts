/** Draw the reports of a plan on the device of the person asked. */

/** A plan that is damaged, was edited, or has a mechanism that clients cannot draw. */
export class PlanError extends Error {}
/** An answer that is missing or not one of the attribute's values; nothing was drawn. */
export class AnswerError extends Error {}
/** Storage that cannot keep a form or report; nothing is released. */
export class StorageError extends Error {}
/** A line that the endpoint did not accept. */
export class SendError extends Error {
  readonly line: Line;
}

/** One of an attribute's values, or any value that the plan gives a code; null if it is missing. */
export type Answer = string | number | boolean | null;

/** An answer by attribute; attributes that are not asked are ignored. */
export type Answers = Readonly<Record<string, Answer>>;

/** A value's code, or the codes of a set of values in ascending order. */
export type Report = number | number[];

/** The line that leaves the device, as JSON. */
export interface Line {
  /** SHA-256 of the wire form of the plan. */
  plan: string;
  /** 16 random bytes in hexadecimal, drawn once: a line that arrives twice counts once. */
  id: string;
  /** The number of the form, from 1. */
  form: number;
  /** One report for each question of a product form. */
  reports?: Record<string, Report>;
  /** One report of all answers to a matrix form. */
  report?: number;
}

export interface Question {
  readonly attribute: string;
  readonly values: readonly string[];
  /** Whether it may be left open: then an answer is drawn by the shares of the plan. */
  readonly open: boolean;
  /**
   * The code of an answer: the index of its value, the number of values for no answer; undefined if
   * the plan has none for it.
   */
  code(answer: Answer): number | undefined;
  /** The answer that is reported of: her own, or, without one, that of a word. */
  give(code: number, next: () => bigint): number;
}

export interface Channel {
  readonly draw: "direct" | "subset" | "bits" | "matrix";
  /** The number of inputs: values, or cells of all answers together. */
  readonly k: number;
  /** The number of 64-bit words that a report takes. */
  readonly words: number;
  /** e^epsilon: the maximum factor by which a report changes the odds between two inputs. */
  readonly factor: number;
  perturb(code: number, next: () => bigint): Report;
}

export interface Form {
  /** From 1. */
  readonly number: number;
  /** The cumulative share out of 2^64. */
  readonly until: bigint;
  /** Whether the form has one report of all answers together (a matrix form). */
  readonly together: boolean;
  readonly questions: readonly Question[];
  /** One for each question, or one for all answers together. */
  readonly channels: readonly Channel[];
  /** The number of random bytes that the answers take. */
  readonly bytes: number;
}

export interface Plan {
  readonly collection: string;
  readonly forms: readonly Form[];
}

/** Storage with two methods of `localStorage`, which may return promises. */
export interface Keeper {
  getItem(key: string): string | null | Promise<string | null>;
  setItem(key: string, text: string): void | Promise<void>;
}

export interface RespondentOptions {
  /** Storage of form and report; IndexedDB by default. */
  storage?: Keeper;
  /** Distinguishes people who share a storage. */
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

/** Return a checked plan; throw a PlanError if its wire form does not match its digest. */
export function loadPlan(source: string | object, options?: { collection?: string }): Promise<Plan>;
/** JSON with sorted keys and no blanks; only strings, integers, arrays and objects. */
export function canonicalJson(value: unknown): string;
/** Return the form that 8 bytes draw. */
export function drawForm(plan: Plan, octets: Uint8Array): Form;
/** Return the codes of the answers to a form; throw an AnswerError for an invalid one. */
export function codesOf(form: Form, answers: Answers): number[];
/** Return the reports of answers, drawn by `form.bytes` bytes. */
export function perturb(
  form: Form,
  answers: Answers,
  octets: Uint8Array,
): { form: number; reports?: Record<string, Report>; report?: number };
/** Return `count` bytes of the device's cryptographic generator. */
export function secureBytes(count: number): Uint8Array;
/** A storage that lasts as long as the page or process. */
export function memoryStorage(): Keeper;

/** One person, whose form and report are drawn once. */
export class Respondent {
  constructor(plan: Plan, options?: RespondentOptions);
  form(): Promise<Form>;
  report(answers: Answers): Promise<Line>;
  kept(): Promise<{ line: Line | null; sent: boolean }>;
  send(endpoint: string, options?: SendOptions): Promise<boolean>;
}
