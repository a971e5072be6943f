// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { operationNames } from "./operation.ts";
import { discoveryPath, versionPath } from "./published-documents.ts";

// As the reference names them.
const cases: Record<string, { reason: string; args: [string, string, string]; want: [string, string] }> = {
  Core: { reason: "no group", args: ["list", "ConfigMap", "/api/v1"], want: ["listCoreV1ConfigMap", "core_v1"] },
  Group: {
    reason: "a short group",
    args: ["read", "NamespacedDeploymentScale", "/apis/apps/v1"],
    want: ["readAppsV1NamespacedDeploymentScale", "apps_v1"],
  },
  Owned: {
    reason: "the domain of Kubernetes goes without saying",
    args: ["delete", "CollectionClusterRole", "/apis/rbac.authorization.k8s.io/v1"],
    want: ["deleteRbacAuthorizationV1CollectionClusterRole", "rbacAuthorization_v1"],
  },
  Custom: {
    reason: "other domains do not",
    args: ["list", "WidgetForAllNamespaces", "/apis/my-own.example.org/v1beta1"],
    want: ["listMyOwnExampleOrgV1beta1WidgetForAllNamespaces", "myOwnExampleOrg_v1beta1"],
  },
  Digits: {
    reason: "a name does not begin with a digit",
    args: ["list", "X", "/apis/9lives.io/v1"],
    want: ["listLivesIoV1X", "LivesIo_v1"],
  },
};

for (const [name, { reason, args, want }] of Object.entries(cases)) {
  test(`operation names: ${name}`, () => {
    const { id, tag } = operationNames(...args);
    assert.deepEqual([id, tag], want, reason);
  });
}

test("the paths of discovery", () => {
  const named = (path: string): unknown[] =>
    discoveryPath(path).operations.map(({ id, tag, responses }) => [
      id,
      tag,
      responses[200]?.component?.split(".").at(-1),
    ]);
  assert.deepEqual(named("/api/"), [["getCoreAPIVersions", "core", "APIVersions"]]);
  assert.deepEqual(named("/apis/"), [["getAPIVersions", "apis", "APIGroupList"]]);
  assert.deepEqual(named("/apis/apps/"), [["getAppsAPIGroup", "apps", "APIGroup"]]);
  assert.deepEqual(named("/apis/apps/v1/"), [["getAppsV1APIResources", "apps_v1", "APIResourceList"]]);
  assert.deepEqual(named("/api/v1/"), [["getCoreV1APIResources", "core_v1", "APIResourceList"]]);
  assert.equal(versionPath().operations[0]?.id, "getCodeVersion");
});
