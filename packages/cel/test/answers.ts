// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Schema } from "@purlin/kube-objects/schema";
import { estimateCost } from "../src/estimate/estimate.ts";
import { compile } from "../src/program.ts";
import { elementsOf, ListValue, MapValue } from "../src/values/collections.ts";
import { formatDouble } from "../src/values/describe.ts";
import { Duration, formatTimestamp, Timestamp } from "../src/values/time-values.ts";
import { isError, OptionalValue, TypeValue, Uint, type Value } from "../src/values/value.ts";
import { createSchemaEnv } from "./expression.ts";

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
