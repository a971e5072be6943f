// SPDX-License-Identifier: Apache-2.0
import { readFileSync } from "node:fs";
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
import { formatPlain } from "../src/values/describe.ts";
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
