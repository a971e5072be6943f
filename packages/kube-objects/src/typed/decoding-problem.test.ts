// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import type { JsonObject, JsonValue } from "../json/json-value.ts";
import { parseJson } from "../json/parse-json.ts";
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

test("the first misfit of the document is told, not the first of the type", () => {
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
