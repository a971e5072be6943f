// SPDX-License-Identifier: Apache-2.0
// The fields of live composed resources that the steps of a run do not explain.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { KubeReader } from "@purlin/kube-client";
import { notFound } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";
import { recordedRun, recordedStep } from "../../test/recorded-runs.ts";
import { liveFields } from "./blame-command.ts";

const box = (more: JsonObject, metadata: JsonObject = {}): JsonObject => ({
  ...{ apiVersion: "acme.org/v1", kind: "Box" },
  metadata: { name: "b", uid: "u", annotations: { "crossplane.io/composition-resource-name": "box" }, ...metadata },
  ...more,
});
const managed = (manager: string, fieldsV1: JsonObject, time?: string): JsonObject => ({
  manager,
  fieldsV1,
  ...(time && { time }),
});

/** Which fields to look at. */
interface Query {
  readonly resource?: string;
  readonly path?: string;
}

/** The lines of fields of one live object, against what a run desired. */
async function fieldsOf(live: JsonObject | undefined, desired: JsonObject, query: Query = {}): Promise<string[]> {
  const xr = {
    ...{ apiVersion: "acme.org/v1", kind: "App", metadata: { name: "shop" } },
    spec: { crossplane: { resourceRefs: [{ apiVersion: "acme.org/v1", kind: "Box", name: "b" }] } },
  };
  const get = async ({ kind }: KubeObject): Promise<unknown> => {
    if (kind === "App") return xr;
    if (live === undefined) throw notFound({ group: "acme.org", resource: "boxes" }, "b");
    return live;
  };
  const response = { desired: { resources: { box: { resource: desired } } } };
  const run = recordedRun({ steps: [recordedStep("a", { response })] });
  const found = await liveFields({ get } as unknown as KubeReader, run, {
    resource: query.resource,
    path: query.path,
    signal: new AbortController().signal,
  });
  return found.map(({ path, value, owner, desired: want }) =>
    [path, JSON.stringify(value), owner, ...(want === undefined ? [] : [JSON.stringify(want)])].join(" "),
  );
}
const ofEngine = [
  'metadata.annotations[crossplane.io/composition-resource-name] "box" engine',
  'metadata.name "b" engine',
];

test("fields that the steps set are explained; defaults of the API server and the engine are named", async () => {
  const live = box({ spec: { size: "s", mode: "x" }, status: { n: 1 } });
  assert.deepEqual(await fieldsOf(live, { apiVersion: "acme.org/v1", kind: "Box", spec: { size: "s" } }), [
    ...ofEngine,
    'spec.mode "x" API server default',
  ]);
});

test("a field with another value than desired has both, and who wrote it when", async () => {
  const live = box(
    { spec: { size: "l" } },
    {
      managedFields: [
        managed("kubectl-edit", { "f:spec": { "f:size": {} } }, "2026-01-01T00:00:00Z"),
        managed("other", { "f:spec": { "f:size": {} } }),
      ],
    },
  );
  const found = await fieldsOf(live, box({ spec: { size: "s" } }));
  assert.deepEqual(found, ['spec.size "l" kubectl-edit at 2026-01-01T00:00:00Z, other "s"']);
});

test("owners are found among members with equal values, and in lists by key, value and index", async () => {
  const spec = {
    max: 1,
    min: 1,
    ports: [
      { name: "a", n: 1 },
      { name: "b", n: 2 },
    ],
    set: ["x", "y"],
    list: [[1], [2]],
  };
  const fieldsV1 = {
    "f:spec": {
      ".": {},
      "f:min": {},
      "f:ports": { 'k:{"name":"b"}': { "f:n": {} } },
      "f:set": { 'v:"y"': {} },
      "f:list": { "i:1": {} },
      "f:gone": {},
    },
  };
  const live = box({ spec }, { managedFields: [managed("m", fieldsV1)] });
  const owned = (await fieldsOf(live, {})).filter((line) => line.endsWith(" m")).map((line) => line.split(" ")[0]);
  assert.deepEqual(owned, ["spec.list[1][0]", "spec.min", "spec.ports[name=b].n", "spec.set[1]"]);
});

test("the engine is named for the fields that it owns", async () => {
  const live = box(
    { spec: { a: 1 } },
    { managedFields: [managed("apiextensions.crossplane.io/composed/abc", { "f:spec": { "f:a": {} } })] },
  );
  assert.ok((await fieldsOf(live, {})).includes("spec.a 1 engine"));
});

test("values of Secrets and of hidden fields are not shown", async () => {
  const secret = { ...box({ data: { p: "cGFzcw==" }, type: "Opaque" }), apiVersion: "v1", kind: "Secret" };
  assert.ok((await fieldsOf(secret, {})).includes('data.p "(sensitive)" API server default'));
  const redacted = box({ spec: { token: "x" } });
  assert.deepEqual(
    await fieldsOf(redacted, box({ spec: { token: "**REDACTED:0123abcd**" } })),
    [],
    "it may be the same",
  );
});

test("another resource than the one that is asked for, and one that is gone, have no fields", async () => {
  assert.deepEqual(await fieldsOf(box({}), {}, { resource: "other" }), []);
  assert.notDeepEqual(await fieldsOf(box({}), {}, { resource: "box" }), []);
  assert.deepEqual(await fieldsOf(undefined, {}), []);
});

test("a path selects the field and what is below it, not fields whose names begin alike", async () => {
  const live = box({ spec: { size: "s", sizes: [1], sizeLimit: 2, other: 3 } });
  const at = async (path: string): Promise<string[]> =>
    (await fieldsOf(live, {}, { path })).map((line) => line.split(" ")[0] ?? "");
  assert.deepEqual(await at("spec.size"), ["spec.size"]);
  assert.deepEqual(await at("spec.sizes"), ["spec.sizes[0]"]);
  assert.deepEqual(await at("spec"), ["spec.other", "spec.size", "spec.sizeLimit", "spec.sizes[0]"]);
  assert.deepEqual(await at("spe"), []);
});
