// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import { toTypedForm } from "@purlin/kube-objects/typed";
import { testKind } from "../../test/index.ts";

/** The object with the defaults of its kind. */
function withDefaults(object: JsonObject): JsonObject {
  return testKind(String(object["apiVersion"]), String(object["kind"])).rules?.defaults?.(object) ?? object;
}

interface Answer {
  readonly given: JsonObject;
  /** As a kube-apiserver 1.36.3 stored it, without what it allocates or its controllers add. */
  readonly stored: JsonObject;
}

const answers = JSON.parse(
  readFileSync(new URL("./testdata/real-server.json", import.meta.url), "utf8"),
) as readonly Answer[];
const allocated = ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"];

function comparable(object: JsonObject): JsonObject {
  const copy = structuredClone(object) as Record<string, Record<string, unknown>>;
  copy["metadata"] = { name: copy["metadata"]?.["name"], labels: copy["metadata"]?.["labels"] };
  delete copy["status"];
  const spec = copy["spec"] ?? {};
  if (object["kind"] === "Service") for (const name of allocated) delete spec[name];
  for (const port of object["kind"] === "Service" ? ((spec["ports"] ?? []) as JsonObject[]) : [])
    delete (port as Record<string, unknown>)["nodePort"];
  if (object["kind"] === "CustomResourceDefinition" || object["kind"] === "Namespace") delete copy["spec"];
  if (object["kind"] === "Job") {
    delete (spec["template"] as Record<string, unknown>)["metadata"];
    delete copy["metadata"]["labels"];
  }
  return JSON.parse(JSON.stringify(copy)) as JsonObject;
}

for (const { given, stored } of answers) {
  const { name } = given["metadata"] as { readonly name: string };
  test(`${given["kind"]} ${name} gets the defaults of the reference server`, () => {
    const ours = toTypedForm(withDefaults(toTypedForm(given).object)).object;
    assert.deepEqual(comparable(ours), JSON.parse(JSON.stringify(stored)));
  });

  test(`${given["kind"]} ${name}: defaults are filled in once`, () => {
    const once = withDefaults(toTypedForm(given).object);
    assert.deepEqual(withDefaults(once), once);
  });
}

test("images by tag, digest and neither are pulled as often as the reference pulls them", () => {
  const policy = (image: string): unknown => {
    const pod = withDefaults({ apiVersion: "v1", kind: "Pod", spec: { containers: [{ name: "c", image }] } });
    return ((pod["spec"] as JsonObject)["containers"] as readonly JsonObject[])[0]?.["imagePullPolicy"];
  };
  assert.deepEqual(["a", "a:latest", "a:1", "host:5000/a", "host:5000/a:1", `a@sha256:${"0".repeat(64)}`].map(policy), [
    "Always",
    "Always",
    "IfNotPresent",
    "Always",
    "IfNotPresent",
    "IfNotPresent",
  ]);
});

test("a kind without defaults comes back itself", () => {
  const lease = { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata: { name: "l" } };
  assert.equal(withDefaults(lease), lease);
});
