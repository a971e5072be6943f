// SPDX-License-Identifier: Apache-2.0

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import type { Schema } from "@purlin/kube-objects/schema";
import type { Environment } from "../src/check/environment.ts";
import { estimateCost } from "../src/estimate/estimate.ts";
import { type CompileFailure, compile } from "../src/program.ts";
import { ruleCostLimit } from "../src/rules/schema-places.ts";
import { type DeclType, declare, environmentOf } from "../src/schema/decl-type.ts";
import { isRawBacked } from "../src/schema/raw-json.ts";
import { SchemaNode } from "../src/schema/schema-node.ts";
import { schemaValue } from "../src/schema/schema-value.ts";
import { formatType } from "../src/types/types.ts";
import { elementsOf, ListValue, MapValue } from "../src/values/collections.ts";
import { durationSeconds } from "../src/values/convert.ts";
import { formatDouble, formatPlain } from "../src/values/describe.ts";
import { Duration, formatTimestamp, Timestamp } from "../src/values/time-values.ts";
import { isError, none, OptionalValue, TypeValue, Uint, type Value } from "../src/values/value.ts";

interface SchemaEnvOptions {
  /** The schema is that of a whole resource: apiVersion, kind and the names in metadata can be read. */
  readonly isRoot?: boolean;
  /** `oldSelf` is an optional, and expressions that read it can be evaluated without an old value. */
  readonly hasOptionalOldSelf?: boolean;
}

/** What expressions over a schema can refer to: `self` and `oldSelf`, with the types the schema declares. */
interface SchemaEnv {
  readonly environment: Environment;
  readonly decl: DeclType;
  /** Makes data of the schema a value. */
  readonly read: (data: unknown) => Value;
  readonly hasOptionalOldSelf: boolean;
}

/** Declares the variables of expressions over a schema; undefined when expressions cannot see its values. */
export function createSchemaEnv(schema: Schema, options: SchemaEnvOptions = {}): SchemaEnv | undefined {
  const { isRoot = false, hasOptionalOldSelf = false } = options;
  const decl = declare(schema, isRoot);
  if (!decl) return undefined;
  const node = new SchemaNode(schema, isRoot);
  const environment = environmentOf(decl, hasOptionalOldSelf);
  return { environment, decl, hasOptionalOldSelf, read: (data) => schemaValue(data, node) };
}

/** What came of an evaluation. `error` is set when it failed, and then there is no value. */
interface ExpressionResult {
  readonly value?: unknown;
  readonly error?: string;
  readonly cost: number;
}

/** An expression ready to be evaluated. */
interface Expression {
  /** The type of its result, as messages show types. */
  readonly type: string;
  readonly usesOldSelf: boolean;
  /** The least and the most it can cost over data of the schema. */
  readonly estimatedCost: { readonly min: bigint; readonly max: bigint };
  /** Evaluates it over data of the schema. Costs are CEL's; at the limit the evaluation ends with an error. */
  evaluate(data: { readonly self: unknown; readonly oldSelf?: unknown }, costLimit?: number): ExpressionResult;
}

/** Parses, type-checks and plans an expression. A failure says what is wrong in the words of the API server. */
export function compileExpression(text: string, env: SchemaEnv): Expression | CompileFailure {
  const program = compile(text, env.environment);
  if ("problem" in program) return program;
  return {
    type: formatType(program.type),
    usesOldSelf: program.usesOldSelf,
    estimatedCost: estimateCost(program.root, env.decl),
    evaluate: ({ self, oldSelf }, costLimit = ruleCostLimit) => {
      const old = oldSelf === undefined || oldSelf === null ? undefined : env.read(oldSelf);
      const optionalOld = old === undefined ? none : new OptionalValue(old);
      const variables = { self: env.read(self), oldSelf: env.hasOptionalOldSelf ? optionalOld : old };
      const { value, cost } = program.evaluate(variables, costLimit);
      return isError(value) ? { error: value.message, cost } : { value: toJson(value), cost };
    },
  };
}

/**
 * A value as plain data: lists are arrays, maps objects, integers bigints, times and durations strings, bytes base64. An
 * optional is what it holds, or undefined.
 */
function toJson(value: Value): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (isRawBacked(value)) return value.raw;
  if (value instanceof Uint) return value.value;
  if (value instanceof ListValue) return [...elementsOf(value)].map(toJson);
  if (value instanceof MapValue) return mapToJson(value);
  if (value instanceof OptionalValue) return value.hasValue ? toJson(value.value) : undefined;
  if (value instanceof Timestamp) return formatTimestamp(value);
  if (value instanceof Duration) return `${formatPlain(durationSeconds(value))}s`;
  if (value instanceof Uint8Array) return Buffer.from(value).toString("base64");
  if (value instanceof TypeValue) return value.name;
  return isError(value) ? value.message : value.toString();
}

function mapToJson(map: MapValue): unknown {
  const entries: [string, unknown][] = [];
  for (const key of map.keys()) entries.push([String(toJson(key)), toJson(map.find(key) ?? null)]);
  return Object.fromEntries(entries);
}

/** One line of a table of reference answers: an expression and what Kubernetes 1.36 makes of it. */
export interface ReferenceCase {
  readonly expr: string;
  /** There is no old value. */
  readonly isNew?: boolean;
  readonly optOld?: boolean;
  readonly compile?: string;
  readonly plan?: string;
  readonly type?: string;
  readonly value?: string;
  readonly error?: string;
  readonly cost?: number;
  readonly min?: string;
  readonly max?: string;
}

const folder = new URL("../src/testdata/", import.meta.url);

/** The lines of a table in `testdata`. */
export function readTable<T>(name: string): readonly T[] {
  const text = readFileSync(new URL(`${name}.jsonl`, folder), "utf8");
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as T);
}

/** The schema and the objects over which the expressions of all tables are evaluated. */
export function readSubject<T>(): T {
  return JSON.parse(readFileSync(new URL("subject.json", folder), "utf8")) as T;
}

/** An expression and what Kubernetes makes of it. What is left out is not compared. */
interface AnswerRow {
  /** What the row shows. */
  readonly why: string;
  readonly expr: string;
  /** The value in the notation of `showValue`, or ERR, PLAN or COMPILE and a message. */
  readonly is?: string;
  /** The problems that refuse an expression of one line, each as its column and message: "5: undefined field 'a'". */
  readonly refused?: string | readonly string[];
  readonly cost?: number;
  /** The estimate of the cost. */
  readonly min?: bigint;
  readonly max?: bigint;
}

/** What `self` is. */
export interface Subject {
  readonly schema: Schema;
  readonly self: unknown;
}

type Answer = Omit<AnswerRow, "why" | "expr" | "refused">;

const nothing: Subject = { schema: { type: "object" }, self: {} };

/** What comes of an expression. */
function answerTo(expr: string, { schema, self }: Subject = nothing): Answer {
  const env = createSchemaEnv(schema) ?? assert.fail("expressions cannot see the schema");
  const program = compile(expr, env.environment);
  if ("problem" in program) return { is: `${program.stage.toUpperCase()} ${program.problem}` };
  const { value, cost } = program.evaluate({ self: env.read(self) }, 1_000_000);
  return {
    is: isError(value) ? `ERR ${value.message}` : showValue(value),
    cost,
    ...estimateCost(program.root, env.decl),
  };
}

/** What `is` shows of problems: each with the expression and a mark below its column. */
function compileText(expr: string, refused: string | readonly string[]): string {
  const problems = typeof refused === "string" ? [refused] : refused;
  const texts = problems.map((problem) => {
    const mark = `${".".repeat(Number.parseInt(problem, 10) - 1)}^`;
    return `ERROR: <input>:1:${problem}\n | ${expr}\n | ${mark}`;
  });
  return `COMPILE ${texts.join("\n")}`;
}

/** Tests each expression of a table. */
export function testAnswers(rows: readonly AnswerRow[], subject?: Subject): void {
  for (const { why, expr, refused, ...rest } of rows) {
    test(`${why}: ${expr}`, () => {
      const answer = answerTo(expr, subject);
      const expected = refused === undefined ? rest : { ...rest, is: compileText(expr, refused) };
      const compared = Object.keys(expected).map((key) => [key, answer[key as keyof Answer]]);
      assert.deepEqual(Object.fromEntries(compared), expected);
    });
  }
}

const shortNames: ReadonlyMap<string, string> = new Map([
  ["kubernetes.URL", "url"],
  ["kubernetes.Semver", "semver"],
  ["kubernetes.NamedFormat", "format"],
  ["net.IP", "ip"],
  ["net.CIDR", "cidr"],
]);

/** A value with its type, in the notation of the reference answers. */
export function showValue(value: Value): string {
  if (value === null) return "null";
  switch (typeof value) {
    case "string":
      return JSON.stringify(value);
    case "number":
      return `double ${formatDouble(value)}`;
    case "object":
      return showObject(value);
    default:
      return String(value);
  }
}

function showObject(value: Exclude<Value, null> & object): string {
  if (isError(value)) return `ERR ${value.message}`;
  if (value instanceof Uint) return `${value.value}u`;
  if (value instanceof Timestamp) return `timestamp ${formatTimestamp(value)}`;
  if (value instanceof Duration) return `duration ${value.nanos}`;
  if (value instanceof Uint8Array) return `b${Buffer.from(value).toString("hex")}`;
  if (value instanceof TypeValue) return `type ${value.name}`;
  if (value instanceof OptionalValue) return value.hasValue ? `optional(${showValue(value.value)})` : "optional.none";
  if (value instanceof ListValue) return `[${[...elementsOf(value)].map(showValue).join(", ")}]`;
  if (value instanceof MapValue) return showMap(value);
  const name = shortNames.get(value.typeName);
  return name === undefined ? "quantity" : `${name} ${value.toString()}`;
}

function showMap(map: MapValue): string {
  const entries = [...map.keys()].map((key) => `${showValue(key)}: ${showMaybe(map.find(key))}`);
  return `{${entries.sort().join(", ")}}`;
}

const showMaybe = (value: Value | undefined): string => (value === undefined ? "<nil>" : showValue(value));

// What `self` is in the tests of several libraries. Limits of sizes show in the estimates of costs.

const shortText: Schema = { type: "string", maxLength: 10 };
const words: Schema = { type: "array", maxItems: 5, items: { type: "string", maxLength: 3 } };
const integers: Schema = { type: "array", maxItems: 4, items: { type: "integer" } };

/** A value of each type that the libraries for strings read: some with limits of their size, one without. */
export const stringSubject: Subject = {
  schema: {
    type: "object",
    properties: {
      s: shortText,
      t: { type: "string" },
      l: words,
      i: integers,
      m: { type: "object", maxProperties: 3, additionalProperties: { type: "string", maxLength: 2 } },
      n: { type: "integer" },
      b: { type: "string", format: "byte", maxLength: 8 },
    },
  },
  self: { s: "http://a/b", t: "x", l: ["a", "b"], i: [1, 2], m: { k: "v" }, n: 2, b: "aGk=" },
};

/** Lists with and without limits of their size, and a list of lists. */
export const listSubject: Subject = {
  schema: {
    type: "object",
    properties: {
      s: shortText,
      l: words,
      i: integers,
      u: { type: "array", items: { type: "integer" } },
      ll: { type: "array", maxItems: 3, items: { type: "array", maxItems: 2, items: { type: "integer" } } },
      n: { type: "integer" },
    },
  },
  self: { s: "abc", l: ["b", "a"], i: [3, 1, 2], u: [1], ll: [[1], [2, 3]], n: 2 },
};

/** A string with a limit of its length that is an IP address, and a string without a limit. */
export const addressSubject: Subject = {
  schema: { type: "object", properties: { s: shortText, t: { type: "string" } } },
  self: { s: "10.0.0.1", t: "1" },
};
