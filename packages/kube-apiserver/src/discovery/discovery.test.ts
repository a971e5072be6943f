// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { testTypes } from "@purlin/kube-builtin/testing";
import type { JsonObject } from "@purlin/kube-objects/json";
import { answerValue, testRequest, textOf } from "../../test/test-server.ts";
import { Registry, type ResourceType } from "../registry/registry.ts";
import { createDiscovery } from "./discovery.ts";

const registry = new Registry(testTypes);
const [configMap] = testTypes as readonly [ResourceType];
const nop: ResourceType = {
  ...configMap,
  group: "nop.crossplane.io",
  version: "v1alpha1",
  kind: "NopResource",
  resource: "nopresources",
  singular: "nopresource",
  shortNames: [],
  categories: ["crossplane"],
  namespaced: false,
  verbs: ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"],
  subresources: [{ name: "status", verbs: ["get", "patch", "update"] }],
  custom: true,
  storage: { group: "nop.crossplane.io", version: "v1alpha1", resource: "nopresources" },
};
registry.setCustom([nop]);

const discover = createDiscovery(
  () => registry.catalog,
  () => "127.0.0.1:6443",
);
const aggregatedAccept =
  "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json";
const get = (path: string, headers: Record<string, string> = {}): ReturnType<typeof discover> =>
  discover(testRequest(path, { headers }));

test("/api in the plain form", () => {
  assert.deepEqual(answerValue(get("/api")), {
    kind: "APIVersions",
    versions: ["v1"],
    serverAddressByClientCIDRs: [{ clientCIDR: "0.0.0.0/0", serverAddress: "127.0.0.1:6443" }],
  });
});

test("/apis in the plain form lists every group but the core one, built-in ones first", () => {
  const { kind, groups } = answerValue(get("/apis")) as unknown as { kind: string; groups: { name: string }[] };
  const names = groups.map(({ name }) => name);
  assert.equal(kind, "APIGroupList");
  assert.equal(names.at(-1), "nop.crossplane.io");
  assert.ok(names.indexOf("apps") < names.indexOf("apiextensions.k8s.io") && !names.includes(""));
  assert.deepEqual(groups[1], {
    name: "apps",
    versions: [{ groupVersion: "apps/v1", version: "v1" }],
    preferredVersion: { groupVersion: "apps/v1", version: "v1" },
  });
});

test("a group and its versions", () => {
  assert.deepEqual(answerValue(get("/apis/apps")), {
    kind: "APIGroup",
    apiVersion: "v1",
    name: "apps",
    versions: [{ groupVersion: "apps/v1", version: "v1" }],
    preferredVersion: { groupVersion: "apps/v1", version: "v1" },
  });
});

test("the resources of a version, subresources among them", () => {
  const { groupVersion, resources } = answerValue(get("/apis/apps/v1")) as unknown as {
    groupVersion: string;
    resources: JsonObject[];
  };
  assert.equal(groupVersion, "apps/v1");
  assert.deepEqual(
    resources.map((resource) => resource["name"]),
    [
      "controllerrevisions",
      "daemonsets",
      "daemonsets/status",
      "deployments",
      "deployments/scale",
      "deployments/status",
      "replicasets",
      "replicasets/scale",
      "replicasets/status",
      "statefulsets",
      "statefulsets/scale",
      "statefulsets/status",
    ],
  );
  assert.deepEqual(
    resources.find(({ name }) => name === "deployments"),
    {
      name: "deployments",
      singularName: "deployment",
      namespaced: true,
      kind: "Deployment",
      verbs: ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"],
      shortNames: ["deploy"],
      categories: ["all"],
      storageVersionHash: createHash("sha256").update("apps/v1/Deployment").digest().subarray(0, 8).toString("base64"),
    },
  );
  assert.deepEqual(
    resources.find(({ name }) => name === "deployments/scale"),
    {
      name: "deployments/scale",
      singularName: "",
      namespaced: true,
      group: "autoscaling",
      version: "v1",
      kind: "Scale",
      verbs: ["get", "patch", "update"],
    },
  );
});

test("what is only asked for is not stored, and says so", () => {
  const { resources } = answerValue(get("/apis/authorization.k8s.io/v1")) as unknown as { resources: JsonObject[] };
  assert.deepEqual(
    resources.find(({ name }) => name === "selfsubjectaccessreviews"),
    {
      name: "selfsubjectaccessreviews",
      singularName: "selfsubjectaccessreview",
      namespaced: false,
      kind: "SelfSubjectAccessReview",
      verbs: ["create"],
    },
  );
});

for (const path of [
  "/apis/nope",
  "/apis/nope/v1",
  "/apis/apps/v9",
  "/api/v2",
  "/apis//v1",
  "/other",
  "/apis/apps/v1/x",
]) {
  test(`"${path}" is not served`, () => assert.equal(get(path), undefined));
}

test("both roots in the aggregated form, with a tag that saves sending it again", () => {
  for (const root of ["/api", "/apis"]) {
    const response = get(root, { accept: aggregatedAccept });
    const tag = response?.headers?.["etag"] ?? "";
    assert.equal(response?.code, 200);
    assert.equal(
      response?.payload?.contentType,
      "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
    );
    assert.deepEqual([response?.headers?.["vary"], response?.headers?.["cache-control"]], ["Accept", "public"]);
    assert.equal(tag, `"${createHash("sha512").update(textOf(response)).digest("hex").toUpperCase()}"`);
    assert.deepEqual(JSON.parse(textOf(response)), answerValue(response));
    const again = get(root, { accept: aggregatedAccept, "if-none-match": tag });
    assert.deepEqual([again?.code, again?.payload], [304, undefined]);
    assert.equal(get(root, { accept: aggregatedAccept, "if-none-match": '"old"' })?.code, 200);
  }
});

test("the aggregated form of the core group has no name, of a custom one everything", () => {
  const core = answerValue(get("/api", { accept: aggregatedAccept })) as unknown as {
    items: { metadata: object; versions: { resources: JsonObject[] }[] }[];
  };
  assert.deepEqual([core.items.length, core.items[0]?.metadata], [1, {}]);
  const accounts = core.items[0]?.versions[0]?.resources.find(({ resource }) => resource === "serviceaccounts");
  assert.deepEqual(accounts?.["responseKind"], { group: "", version: "", kind: "ServiceAccount" });
  assert.deepEqual(accounts?.["subresources"], [
    {
      subresource: "token",
      responseKind: { group: "authentication.k8s.io", version: "v1", kind: "TokenRequest" },
      verbs: ["create"],
    },
  ]);
  const all = answerValue(get("/apis", { accept: aggregatedAccept })) as unknown as { items: JsonObject[] };
  const kind = { group: "nop.crossplane.io", version: "v1alpha1", kind: "NopResource" };
  assert.deepEqual(all.items.at(-1), {
    metadata: { name: "nop.crossplane.io" },
    versions: [
      {
        version: "v1alpha1",
        freshness: "Current",
        resources: [
          {
            resource: "nopresources",
            responseKind: kind,
            scope: "Cluster",
            singularResource: "nopresource",
            verbs: nop.verbs,
            categories: ["crossplane"],
            subresources: [{ subresource: "status", responseKind: kind, verbs: ["get", "patch", "update"] }],
          },
        ],
      },
    ],
  });
});

test("a change of what is served changes the tag", () => {
  const own = new Registry(testTypes);
  const ask = createDiscovery(
    () => own.catalog,
    () => "",
  );
  const tag = (): string | undefined =>
    ask(testRequest("/apis", { headers: { accept: aggregatedAccept } }))?.headers?.["etag"];
  const before = tag();
  assert.equal(tag(), before);
  own.setCustom([nop]);
  assert.notEqual(tag(), before);
});

test("clients that only know the beta of the aggregated form get the plain one", () => {
  const accept = "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json";
  assert.equal((answerValue(get("/apis", { accept })) as { kind?: string }).kind, "APIGroupList");
});
