// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { parseJson, parseJsonStrict } from "../json/json-text.ts";
import type { JsonObject, JsonValue } from "../json/json-value.ts";
import { toTypedForm, toTypedMetadata } from "./typed-form.ts";

/** Objects and what kube-apiserver 1.36.3 answered: why it could not read them, or what it made of them. */
interface Recorded {
  readonly object: JsonObject;
  readonly problem?: string;
  readonly written?: JsonObject;
}

const recorded = parseJson(
  readFileSync(new URL("testdata/decoding-problems.json", import.meta.url), "utf8"),
) as unknown as readonly Recorded[];

const isBuiltin = ({ apiVersion }: JsonObject): boolean => apiVersion !== "example.org/v1";

function problemOf(object: JsonObject): string | undefined {
  try {
    if (isBuiltin(object)) toTypedForm(object);
    else toTypedMetadata(object["metadata"] ?? {});
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

for (const { object, problem, written } of recorded) {
  const { apiVersion: _, kind, ...rest } = object;
  test(`reading a ${kind} ${JSON.stringify(rest)}`, () => {
    assert.equal(problemOf(object), problem);
    if (written === undefined) return;
    const made: Readonly<Record<string, JsonValue>> = toTypedForm(object).object;
    assert.deepEqual(made["data"] ?? made["spec"], written);
  });
}

test("the first mismatch in the document is reported, not the first of the type", () => {
  const read = (spec: JsonObject): string | undefined => problemOf({ apiVersion: "apps/v1", kind: "Deployment", spec });
  assert.match(read({ paused: 1, replicas: "x" }) ?? "", /spec\.paused/);
  assert.match(read({ replicas: "x", paused: 1 }) ?? "", /spec\.replicas/);
});

test("the largest numbers fit", () => {
  const read = (spec: JsonObject): string | undefined => problemOf({ apiVersion: "apps/v1", kind: "Deployment", spec });
  assert.equal(read({ replicas: 2 ** 31 - 1 }), undefined);
  assert.match(read({ replicas: 2 ** 31 }) ?? "", /number 2147483648 into/);
  assert.equal(problemOf({ apiVersion: "v1", kind: "ConfigMap", metadata: { generation: 2n ** 63n - 1n } }), undefined);
  assert.match(
    problemOf({ apiVersion: "v1", kind: "ConfigMap", metadata: { generation: 2n ** 63n } }) ?? "",
    /number 9223372036854775808 into Go struct field ObjectMeta.metadata.generation of type int64/,
  );
});

const fractions: Record<string, { reason: string; spec: string; problem?: RegExp }> = {
  Whole: {
    reason: "no text for Go's int32",
    spec: '{"replicas":1.0}',
    problem: /number 1\.0 into .*DeploymentSpec\.spec\.replicas of type int32/,
  },
  Exponent: {
    reason: "whole as well",
    spec: '{"replicas":1e3}',
    problem: /number 1e3 into .*spec\.replicas of type int32/,
  },
  AsWritten: { reason: "with the zero at its end", spec: '{"replicas":1.50}', problem: /number 1\.50 into/ },
  FirstOfTheDocument: {
    reason: "before what else is wrong",
    spec: '{"replicas":1.0,"paused":1}',
    problem: /number 1\.0 into/,
  },
  SecondOfTheDocument: {
    reason: "behind it",
    spec: '{"paused":1,"replicas":1.0}',
    problem: /spec\.paused of type bool/,
  },
  IntOrString: {
    reason: "is one where it is a number",
    spec: '{"strategy":{"rollingUpdate":{"maxSurge":1.0}}}',
    problem: /number 1\.0 into .*rollingUpdate\.maxSurge of type int32/,
  },
  InLists: {
    reason: "by their index",
    spec: '{"template":{"spec":{"containers":[{"name":"a"},{"name":"b","ports":[{"containerPort":80.0}]}]}}}',
    problem: /number 80\.0 into .*containers\.ports\.containerPort of type int32/,
  },
  Quantity: {
    reason: "a number of any kind",
    spec: '{"template":{"spec":{"containers":[{"name":"a","resources":{"limits":{"cpu":1.50}}}]}}}',
  },
  Unknown: { reason: "it is not decoded", spec: '{"nope":1.0}' },
  Integer: { reason: "what most write", spec: '{"replicas":1,"nope":1.0}' },
};

for (const [name, { reason, spec, problem }] of Object.entries(fractions)) {
  test(`numbers that are not written as integers: ${name}`, () => {
    const { value, fractions: written } = parseJsonStrict(
      `{"apiVersion":"apps/v1","kind":"Deployment","spec":${spec}}`,
    );
    const read = (): unknown => toTypedForm(value as JsonObject, written);
    if (problem === undefined) assert.doesNotThrow(read, reason);
    else assert.throws(read, problem, reason);
  });
}
