// SPDX-License-Identifier: Apache-2.0
import { Turns } from "@purlin/base";
import {
  type DecodeLimits,
  type EntryLimit,
  entryLimits,
  MatchLabels,
  maxMessageDepth,
  Requirements,
  Resource,
  RunFunctionResponse,
  State,
  type Struct,
} from "@purlin/function-protocol";
import { longestMessage } from "@purlin/kube-objects/object";

/** Why a response is not accepted. */
interface AnswerProblem {
  /** In one line. */
  readonly text: string;
  /** The limit that it exceeds, if it is a limit. */
  readonly exceeded?: AnswerLimitName;
}

/**
 * What is wrong with a response that was decoded; undefined when it is within the limits. Nothing is decoded: an
 * object that is not read stays bytes, but it must not travel on and fail some other function, or be stored.
 */
export async function problemOf(
  response: RunFunctionResponse,
  limits: AnswerLimits,
): Promise<AnswerProblem | undefined> {
  const turns = new Turns();
  for (const problem of problemsOf(response, limits)) {
    if (problem !== undefined) return problem;
    if (turns.isOver) await turns.next();
  }
  return undefined;
}

/** One item for each part that is looked at, so that the caller can pause in between. */
function* problemsOf(response: RunFunctionResponse, limits: AnswerLimits): Generator<AnswerProblem | undefined> {
  const { desired, context, output, requirements, conditions, results } = response;
  yield requirementsProblem(requirements, limits);
  if (desired?.composite !== undefined) yield resourceProblem(undefined, desired.composite, limits);
  for (const [name, resource] of desired?.resources ?? []) {
    yield nameProblem("the name of a desired resource", name, limits) ?? resourceProblem(name, resource, limits);
  }
  yield structProblem(() => "context", context, limits);
  yield structProblem(() => "output", output, limits);
  for (const name of requirementNames(requirements)) yield nameProblem("the name of a requirement", name, limits);
  let characters = 0;
  for (const { type, reason, message = "" } of conditions) {
    // A longer message is cut when it is stored.
    characters += Math.min(message.length, longestMessage);
    yield nameProblem("the type of a condition", type, limits) ??
      nameProblem("the reason of a condition", reason, limits) ??
      messagesProblem(characters, limits);
  }
  for (const { reason = "" } of results) yield nameProblem("the reason of a result", reason, limits);
}

function requirementsProblem(requirements: Requirements | undefined, limits: AnswerLimits): AnswerProblem | undefined {
  if (requirements === undefined) return undefined;
  const { extraResources, resources, schemas } = requirements;
  const size = extraResources.size + resources.size + schemas.size;
  return size > limits.requirements
    ? exceeds(`the function's answer has ${size} requirements`, "requirements", limits)
    : undefined;
}

function* requirementNames(requirements: Requirements | undefined): Generator<string> {
  yield* requirements?.extraResources.keys() ?? [];
  yield* requirements?.resources.keys() ?? [];
  yield* requirements?.schemas.keys() ?? [];
}

/** Conditions are stored in one object, the composite resource. */
function messagesProblem(characters: number, limits: AnswerLimits): AnswerProblem | undefined {
  if (characters <= limits.objectBytes) return undefined;
  const finding = `the messages of the conditions in the function's answer have more than ${limits.objectBytes} characters`;
  return exceeds(finding, "objectBytes", limits);
}

/** The problem of the composite resource, or of a composed one that has a name. */
function resourceProblem(
  name: string | undefined,
  { resource, connectionDetails }: Resource,
  limits: AnswerLimits,
): AnswerProblem | undefined {
  const path = (): string => (name === undefined ? "desired.composite" : `desired.resources[${JSON.stringify(name)}]`);
  let bytes = 0;
  for (const [key, detail] of connectionDetails) bytes += key.length + detail.length;
  if (bytes > limits.objectBytes) {
    return exceeds(`${inAnswer(`${path()}.connectionDetails`)} has ${bytes} bytes`, "objectBytes", limits);
  }
  return structProblem(() => `${path()}.resource`, resource, limits);
}

/** The path is only made when there is something to say. */
function structProblem(
  path: () => string,
  struct: Struct | undefined,
  limits: AnswerLimits,
): AnswerProblem | undefined {
  if (struct === undefined) return undefined;
  const { bytes } = struct;
  if (bytes.length > limits.objectBytes)
    return exceeds(`${inAnswer(path())} has ${bytes.length} bytes`, "objectBytes", limits);
  const excess = excessOf(bytes, limits.objectValues);
  if (excess === undefined) return undefined;
  if (excess === "depth") return { text: `the function's answer is nested too deeply in ${path()}` };
  return exceeds(`${inAnswer(path())} has more than ${limits.objectValues} values`, "objectValues", limits);
}

function inAnswer(path: string): string {
  return `${path} in the function's answer`;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this is about.
const control = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/;

/** Names become part of lines that people read: of conditions, events, logs and tables. */
function nameProblem(what: string, name: string, limits: AnswerLimits): AnswerProblem | undefined {
  if (name.length > limits.nameLength) {
    const start = JSON.stringify(name.slice(0, 64));
    return exceeds(`${inAnswer(what)} has ${name.length} characters (${start}…)`, "nameLength", limits);
  }
  if (!control.test(name)) return undefined;
  return { text: `${inAnswer(what)} contains a control character: ${escaped(name)}` };
}

function exceeds(finding: string, name: AnswerLimitName, limits: AnswerLimits): AnswerProblem {
  return { text: `${finding} ${limitText(name, limits)}: ${limitAdvice}`, exceeded: name };
}

/** A text as a quoted string without control characters. */
function escaped(text: string): string {
  return JSON.stringify(text).replaceAll(/[\u007f-\u009f\u2028\u2029]/g, codeOf);
}

/** The character as JSON escapes it. */
export function codeOf(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

/** How large an object may be. */
interface StructLimits {
  /** Messages inside one another. */
  readonly depth: number;
  readonly values: number;
}

/** Why an object is not accepted. */
type StructExcess = "depth" | "values";

/** A field costs two bytes, a tag and a length. So does a nested message, so that nothing smaller can be too deep. */
const fieldBytes = 2;
/** A member of an object is four fields: the entry, its name, its value and what kind of value. */
const fieldsPerValue = 4;

/** Which fields of google.protobuf's Struct, its map entries, Value and ListValue hold which message. */
const children: Readonly<Record<Kind, Readonly<Record<number, Kind>>>> = {
  struct: { 1: "entry" },
  entry: { 2: "value" },
  value: { 5: "struct", 6: "list" },
  list: { 1: "value" },
};
type Kind = "struct" | "entry" | "value" | "list";

/** Whether a Struct is too deep or has too many values. Decodes nothing, and does not even look at one that is small. */
function excessOf(bytes: Uint8Array, values: number): StructExcess | undefined {
  const isSmall = bytes.length < fieldBytes * Math.min(maxMessageDepth, values);
  return isSmall ? undefined : measureStruct(bytes, { depth: maxMessageDepth, values });
}

/** Walks the messages of a Struct without recursion, up to the first one too many. Bytes that make no sense are left to the reader. */
export function measureStruct(bytes: Uint8Array, { depth, values }: StructLimits): StructExcess | undefined {
  const open: { readonly kind: Kind; readonly end: number }[] = [{ kind: "struct", end: bytes.length }];
  const at = { position: 0 };
  let fields = 0;
  let found = 0;
  for (let top = open.at(-1); top !== undefined; top = open.at(-1)) {
    if (at.position >= top.end) {
      open.pop();
      continue;
    }
    const tag = varint(bytes, at);
    const size = sizeOf(bytes, at, tag & 7);
    if (size === undefined || at.position + size > top.end) return undefined;
    const kind = (tag & 7) === 2 ? children[top.kind][tag >>> 3] : undefined;
    if (kind === "value") found++;
    // Unknown fields are not values, and take as long to read.
    if (found > values || ++fields > (fieldsPerValue + 1) * values) return "values";
    if (kind === undefined) at.position += size;
    else if (open.push({ kind, end: at.position + size }) > depth) return "depth";
  }
  return undefined;
}

function sizeOf(bytes: Uint8Array, at: { position: number }, wireType: number): number | undefined {
  if (wireType === 2) return varint(bytes, at);
  if (wireType === 1) return 8;
  if (wireType === 5) return 4;
  if (wireType !== 0) return undefined;
  varint(bytes, at);
  return 0;
}

function varint(bytes: Uint8Array, at: { position: number }): number {
  let value = 0;
  for (let scale = 1; at.position < bytes.length; scale *= 128) {
    const byte = bytes[at.position++] as number;
    value += (byte & 0x7f) * scale;
    if (byte < 0x80) break;
  }
  return value;
}

/**
 * How much a function may answer. This is the one place that defines the limits and their defaults. They are far above what an
 * API server can store for one composite resource (1.5 to 3 MiB), and low enough that no answer holds the event loop.
 */
export interface AnswerLimits {
  /** Bytes of the whole response. */
  readonly answerBytes: number;
  /** Desired composed resources. */
  readonly resources: number;
  /** Requirements: selectors of resources and of schemas together. */
  readonly requirements: number;
  readonly results: number;
  readonly conditions: number;
  /** Bytes of one object as it is sent: the desired composite resource, a composed resource, the context, the output. Also those of the connection details of one resource with their keys, and the characters of the messages of all conditions. */
  readonly objectBytes: number;
  /** Values in one object: members, list items and what they hold. */
  readonly objectValues: number;
  /** Characters of the name of a resource or a requirement, and of the type or reason of a condition or result. */
  readonly nameLength: number;
  /** Objects that one requirement of a function may select. */
  readonly selectedObjects: number;
}

/** As large as a request may be unless another limit is given. */
export const defaultMaxRequestBytes: number = 64 * 2 ** 20;

/** The limits that hold unless others are given. */
export const defaultAnswerLimits: AnswerLimits = {
  answerBytes: 64 * 2 ** 20,
  resources: 10_000,
  requirements: 5_000,
  results: 10_000,
  conditions: 1_000,
  objectBytes: 8 * 2 ** 20,
  objectValues: 100_000,
  nameLength: 1_024,
  selectedObjects: 10_000,
};

/** More fields than a response has whose maps and lists are all full. */
function maxFields({ resources, requirements, results, conditions }: AnswerLimits): number {
  return 50_000 + 12 * (resources + requirements) + 6 * (results + conditions);
}

/** A Secret has a few connection details, and a selector a few labels. */
const maxDetails = { most: 1_000, what: "connection details of one resource" };
const maxLabels = { most: 1_000, what: "labels in one selector" };

/** The names of the limits. */
type AnswerLimitName = keyof AnswerLimits;

/** Whether a text is the name of a limit. */
export function isAnswerLimitName(name: string): name is AnswerLimitName {
  return Object.hasOwn(defaultAnswerLimits, name);
}

/** The limits that the decoder of responses checks while it reads. */
export function decodeLimitsOf(limits: AnswerLimits): DecodeLimits {
  const entries = (name: AnswerLimitName, what: string): EntryLimit => ({
    most: limits[name],
    what: `${what} ${limitText(name, limits)}`,
  });
  const selectors = entries("requirements", "requirements");
  return {
    fields: maxFields(limits),
    entries: new Map([
      ...entryLimits(State, { resources: entries("resources", "desired resources") }),
      ...entryLimits(Resource, { connectionDetails: maxDetails }),
      ...entryLimits(MatchLabels, { labels: maxLabels }),
      ...entryLimits(Requirements, { extraResources: selectors, resources: selectors, schemas: selectors }),
      ...entryLimits(RunFunctionResponse, {
        results: entries("results", "results"),
        conditions: entries("conditions", "conditions"),
      }),
    ]),
  };
}

/** How an error names a limit. */
export function limitText(name: AnswerLimitName, limits: AnswerLimits): string {
  return `(limit ${name}=${limits[name]})`;
}

/** How to raise a limit. */
export const raiseLimit = "raise the limit with --function-limit";

/** What to do about an answer that exceeds a limit. */
export const limitAdvice: string = `correct the function, or ${raiseLimit}`;
