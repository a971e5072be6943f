// SPDX-License-Identifier: Apache-2.0

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { ControllerClient } from "@purlin/kube-controller";
import { forbidden, internalError } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { type KubeObject, memberAt } from "@purlin/kube-objects/object";
import { configMap, createCompositeBench } from "../../../test/composite-bench.ts";
import { cacheDefinition } from "../../../test/definitions.ts";
import { startTestCluster, type TestCluster } from "../../../test/test-control.ts";
import { intercepted } from "../../../test/test-doubles.ts";
import { diagnoseAccess } from "./report-failure.ts";

let cluster: TestCluster;
before(async () => {
  cluster = await startTestCluster();
});
after(() => cluster[Symbol.asyncDispose]());

/** A client with some permissions, as the authorizer of an API server would answer. */
function limited(allowed: readonly string[], asked: string[] = []): ControllerClient {
  return {
    ...cluster.client,
    async create(object, options) {
      const answer = (status: JsonObject): KubeObject => ({ ...object, status });
      if (object.kind === "SelfSubjectReview") {
        return answer({ userInfo: { username: "system:serviceaccount:purlin-system:purlin" } });
      }
      if (object.kind !== "SelfSubjectAccessReview") return cluster.client.create(object, options);
      const attributes = memberAt(object, ["spec", "resourceAttributes"]) as { verb: string };
      asked.push(JSON.stringify(attributes));
      return answer({ allowed: allowed.includes(attributes.verb) });
    },
  };
}
const { signal } = new AbortController();
const all = ["get", "list", "watch", "create", "update", "patch", "delete"];

const rows: Readonly<
  Record<
    string,
    { resource: { apiVersion: string; kind: string; namespace?: string }; may: string[]; want: string | undefined }
  >
> = {
  "nothing at all, in a namespace": {
    resource: { apiVersion: "v1", kind: "ConfigMap", namespace: "shop" },
    may: [],
    want: "system:serviceaccount:purlin-system:purlin is not allowed to [get, list, watch, create, update, patch, delete] resource configmaps/v1 in namespace shop",
  },
  "some verbs of a kind with a group": {
    resource: { apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole", namespace: "ignored" },
    may: ["get", "list", "watch"],
    want: "system:serviceaccount:purlin-system:purlin is not allowed to [create, update, patch, delete] resource clusterroles.rbac.authorization.k8s.io/v1",
  },
  "everything by one rule": { resource: { apiVersion: "v1", kind: "ConfigMap" }, may: ["*"], want: undefined },
  "everything verb by verb": { resource: { apiVersion: "v1", kind: "ConfigMap" }, may: all, want: undefined },
  "a kind that is not served is not diagnosed": {
    resource: { apiVersion: "x/v1", kind: "Nothing" },
    may: [],
    want: undefined,
  },
};

for (const [name, { resource, may, want }] of Object.entries(rows)) {
  test(`access, ${name}`, async () => {
    assert.equal(await diagnoseAccess(resource, limited(may), signal), want);
  });
}

test("a client that may do everything needs one review", async () => {
  const asked: string[] = [];
  await diagnoseAccess({ apiVersion: "v1", kind: "ConfigMap", namespace: "shop" }, limited(["*"], asked), signal);
  assert.deepEqual(asked, ['{"group":"","version":"v1","resource":"configmaps","namespace":"shop","verb":"*"}']);
});

test("a diagnosis that fails hides nothing", async () => {
  const client: ControllerClient = { ...cluster.client, create: () => Promise.reject(internalError("boom")) };
  assert.equal(await diagnoseAccess({ apiVersion: "v1", kind: "ConfigMap" }, client, signal), undefined);
});

test("the embedded server returns our user and rights", async () => {
  assert.equal(
    await diagnoseAccess({ apiVersion: "v1", kind: "ConfigMap", namespace: "default" }, cluster.client, signal),
    undefined,
  );
});

test("an XR that may not compose says what it lacks, in an event and in its condition", async () => {
  const client = intercepted(limited(["get", "list", "watch"]), ({ method, kind, name }) => {
    if (method === "apply" && kind === "ConfigMap")
      throw forbidden({ group: "", resource: "configmaps" }, name, "no rule");
  });
  const bench = createCompositeBench(cluster, await cluster.define(cacheDefinition("Namespaced")), { client });
  await bench.compositionOf("c", ["f"]);
  bench.functions.set("f", { resources: { a: configMap({}, { name: "cm" }) } });
  await bench.xr("one", {}, { namespace: "default" });
  await assert.rejects(bench.reconcile({ namespace: "default", name: "one" }));
  const denied =
    "system:serviceaccount:purlin-system:purlin is not allowed to [create, update, patch, delete] resource configmaps/v1 in namespace default";
  assert.ok(bench.takeEvents().includes(`Cache/one Warning RoleBasedAccessControl: ${denied}`));
  const { message = "" } = await bench.condition({ namespace: "default", name: "one" }, "Synced");
  assert.match(
    message,
    /^\[cannot compose resources: cannot apply composed resource "a": .*, system:serviceaccount:.*in namespace default\]$/,
  );
});
