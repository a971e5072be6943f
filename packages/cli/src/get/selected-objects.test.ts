// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { notFound } from "@purlin/kube-objects/errors";
import type { JsonValue } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";
import type { Cluster } from "../cluster/cluster-client.ts";
import type { Resource, Target } from "../cluster/find-resource.ts";
import {
  fetchTarget,
  type OutputFormat,
  objectsOf,
  printList,
  printObject,
  queryOf,
  readFormat,
} from "./selected-objects.ts";

const resource = (apiVersion: string, kind: string, namespaced = true): Resource =>
  ({
    ...{ apiVersion, kind, namespaced, plural: `${kind.toLowerCase()}s` },
    path: apiVersion.includes("/") ? `/apis/${apiVersion}` : `/api/${apiVersion}`,
  }) as Resource;
const pods: Target = { resource: resource("v1", "Pod") };

/** What a request asked for, and the answer to give. */
function cluster(answer: JsonValue | Error): { readonly asked: object[]; readonly cluster: Cluster } {
  const asked: object[] = [];
  const raw = async (request: {
    readonly path: string;
    readonly query: object;
    readonly accept: string;
  }): Promise<JsonValue> => {
    const { path, query, accept } = request;
    asked.push({ path, query, accept });
    if (answer instanceof Error) throw answer;
    return answer;
  };
  return { asked, cluster: { client: { raw } } as unknown as Cluster };
}
const { signal } = new AbortController();

test("a list is asked for with its selectors, in one namespace or all", async () => {
  const selection = { namespace: "a b", labelSelector: "app=shop", fieldSelector: undefined };
  const { asked, cluster: one } = cluster({ items: [] });
  await fetchTarget(one, pods, { selection, accept: "x", signal });
  await fetchTarget(one, pods, { selection: { namespace: undefined, fieldSelector: "a=b" }, accept: "x", signal });
  await fetchTarget(one, { resource: resource("acme.org/v1", "App", false) }, { selection, accept: "x", signal });
  assert.deepEqual(asked, [
    { path: "/api/v1/namespaces/a%20b/pods", query: { labelSelector: "app=shop" }, accept: "x" },
    { path: "/api/v1/pods", query: { fieldSelector: "a=b" }, accept: "x" },
    { path: "/apis/acme.org/v1/apps", query: { labelSelector: "app=shop" }, accept: "x" },
  ]);
});

test("an object that is named is asked for without selectors", async () => {
  const { asked, cluster: one } = cluster({});
  const selection = { namespace: "a", labelSelector: "app=shop" };
  await fetchTarget(one, { ...pods, name: "web/1" }, { selection, accept: "x", signal });
  assert.deepEqual(asked, [{ path: "/api/v1/namespaces/a/pods/web%2F1", query: {}, accept: "x" }]);
  assert.deepEqual(queryOf({ namespace: undefined, labelSelector: "", fieldSelector: undefined }), {});
});

test("an object that is not found: the namespace may be wrong, of a kind with namespaces", async () => {
  const message = async (target: Target): Promise<string> => {
    const missing = notFound({ group: "", resource: target.resource.plural }, "web");
    const found = fetchTarget(
      cluster(missing).cluster,
      { ...target, name: "web" },
      { selection: { namespace: "a" }, accept: "", signal },
    );
    return await found.then(
      () => "found",
      (error: Error) => error.message,
    );
  };
  assert.equal(await message(pods), 'pods "web" not found: check the name and --namespace');
  assert.equal(await message({ resource: resource("v1", "Node", false) }), 'nodes "web" not found');
});

test("items of a list get the type that lists of built-in kinds leave out", () => {
  const own = { apiVersion: "v2", kind: "Own", metadata: { name: "b" } };
  const answer = { items: [{ metadata: { name: "a" } }, own] };
  assert.deepEqual(objectsOf({ target: pods, answer }), [
    { apiVersion: "v1", kind: "Pod", metadata: { name: "a" } },
    own,
  ]);
  assert.deepEqual(objectsOf({ target: pods, answer: { items: null } }), []);
  assert.deepEqual(objectsOf({ target: pods, answer: {} }), []);
  assert.deepEqual(objectsOf({ target: { ...pods, name: "b" }, answer: own }), [own]);
});

test("formats are read by name; a template is compiled at once", () => {
  assert.deepEqual(["table", "wide", "yaml", "json", "name"].map(readFormat), [
    { kind: "table", isWide: false },
    { kind: "table", isWide: true },
    ...[{ kind: "yaml" }, { kind: "json" }, { kind: "name" }],
  ]);
  assert.equal(readFormat("jsonpath={.metadata.name}").kind, "jsonpath");
  const message = (text: string): string => {
    try {
      return readFormat(text).kind;
    } catch (error) {
      assert.equal((error as { exitCode?: number }).exitCode, 2);
      return (error as Error).message;
    }
  };
  assert.equal(message("xml"), "--output xml: expected table, wide, yaml, json, name or jsonpath=TEMPLATE");
  assert.equal(message("jsonpath"), "--output jsonpath: expected a template: jsonpath='{.metadata.name}'");
  assert.match(message("jsonpath={.a"), /^--output jsonpath=\{\.a: ./);
});

const web: KubeObject = {
  ...{ kind: "Pod", apiVersion: "v1" },
  metadata: { name: "web", managedFields: [{ manager: "x" }], labels: { b: "2", a: "1" } },
  spec: { z: [{ d: 1, c: 9007199254740993n }], a: null },
};
const as = (format: string): Exclude<OutputFormat, { kind: "table" | "name" }> => readFormat(format) as never;

test("objects are printed with sorted members and without their managers", () => {
  assert.equal(
    printObject(web, as("yaml"), pods),
    `apiVersion: v1
kind: Pod
metadata:
  labels:
    a: "1"
    b: "2"
  name: web
spec:
  a: null
  z:
  - c: 9007199254740993
    d: 1
`,
  );
  assert.equal(
    printObject({ ...web, spec: { b: 1, a: 2 } }, as("json"), pods).replaceAll(/\s+/g, " "),
    '{ "apiVersion": "v1", "kind": "Pod", "metadata": { "labels": { "a": "1", "b": "2" }, "name": "web" }, "spec": { "a": 2, "b": 1 } } ',
  );
  assert.ok(web.metadata.managedFields, "the object itself does not change");
});

test("JSON escapes what kubectl's JSON escapes, YAML does not", () => {
  const map = { ...{ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "x" } }, data: { "<k>": "a & b\u2028" } };
  assert.match(printObject(map, as("json"), pods), /"\\u003ck\\u003e": "a \\u0026 b\\u2028"\n/);
  assert.match(printList([map], as("json")), /"\\u003ck\\u003e": "a \\u0026 b\\u2028"\n/);
  assert.match(printObject(map, as("yaml"), pods), / {2}<k>: "?a & b/);
});

test("keys that are numbers are in the order of kubectl", () => {
  const names = ["a10", "a9", "10", "9", "B", "a.b", "a-b", "_"];
  const map = {
    ...{ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "x" } },
    ...{ data: Object.fromEntries(names.map((name) => [name, "1"])), empty: {}, none: [] },
  };
  const keys = (text: string): string[] => [...text.matchAll(/^ +"?([^":\n]+)"?: "1"/gm)].map(([, key = ""]) => key);
  const yaml = printObject(map, as("yaml"), pods);
  const json = printObject(map, as("json"), pods);
  // Printed by kubectl 1.36.3: create configmap --dry-run=client.
  assert.deepEqual(keys(yaml), ["_", "9", "10", "B", "a-b", "a.b", "a9", "a10"]);
  assert.deepEqual(keys(json), ["10", "9", "B", "_", "a-b", "a.b", "a10", "a9"]);
  assert.deepEqual(JSON.parse(json), map);
  assert.match(json, /^\{\n {4}"apiVersion": "v1",\n/);
  assert.match(
    json,
    /\n {4}"empty": \{\},\n {4}"kind": "ConfigMap",\n {4}"metadata": \{\n {8}"name": "x"\n {4}\},\n {4}"none": \[\]\n\}\n$/,
  );
});

test("names have the type as kubectl prints it", () => {
  const named = (apiVersion: string, kind: string): string =>
    printObject(web, { kind: "name" }, { resource: resource(apiVersion, kind) });
  assert.deepEqual([named("v1", "Pod"), named("apps/v1", "Deployment")], ["pod/web\n", "deployment.apps/web\n"]);
});

test("a template is filled with the object; where that fails, the error names the option", () => {
  assert.equal(printObject(web, as("jsonpath={.metadata.name}:{.spec.z[0].c}"), pods), "web:9007199254740993");
  assert.throws(() => printObject(web, as("jsonpath={.spec.z[5].c}"), pods), {
    message: "--output jsonpath: array index out of bounds: index 5, length 1",
  });
});

test("several objects are one List", () => {
  assert.equal(
    printList([{ ...web, spec: {}, metadata: { name: "a", managedFields: [] } }], as("yaml")),
    `apiVersion: v1
items:
- apiVersion: v1
  kind: Pod
  metadata:
    name: a
  spec: {}
kind: List
metadata:
  resourceVersion: ""
`,
  );
  assert.equal(printList([], as("jsonpath={.items}")), "[]");
});
