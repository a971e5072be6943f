// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "../json/json-value.ts";
import { type GroupVersionKind, parseApiVersion } from "../object/kube-object.ts";
import { builtinComponentsForCustomResources, builtinOpenAPI, componentClosure } from "./builtin-openapi.ts";
import { findSchema, openAPIPathKey } from "./open-api-document.ts";

const documents = builtinOpenAPI();
const metaV1 = "io.k8s.apimachinery.pkg.apis.meta.v1";
const kindsOf = (schema: JsonObject | undefined): unknown => schema?.["x-kubernetes-group-version-kind"];

// Every kind the embedded API server stores or answers, with the component that must describe it.
const kinds: Readonly<Record<string, readonly string[]>> = {
  v1: [
    ...["Namespace", "ConfigMap", "Secret", "ServiceAccount", "Service", "Event", "Endpoints", "Pod", "Node"],
    ...["PersistentVolume", "PersistentVolumeClaim", "ResourceQuota", "LimitRange", "ReplicationController"],
  ],
  "apps/v1": ["Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "ControllerRevision"],
  "autoscaling/v1": ["HorizontalPodAutoscaler"],
  "autoscaling/v2": ["HorizontalPodAutoscaler"],
  "networking.k8s.io/v1": ["Ingress", "IngressClass", "NetworkPolicy", "IPAddress", "ServiceCIDR"],
  "policy/v1": ["PodDisruptionBudget"],
  "storage.k8s.io/v1": ["StorageClass", "CSIDriver", "CSINode", "VolumeAttachment"],
  "batch/v1": ["Job", "CronJob"],
  "coordination.k8s.io/v1": ["Lease"],
  "events.k8s.io/v1": ["Event"],
  "rbac.authorization.k8s.io/v1": ["ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"],
  "apiextensions.k8s.io/v1": ["CustomResourceDefinition"],
  "admissionregistration.k8s.io/v1": ["ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"],
  "discovery.k8s.io/v1": ["EndpointSlice"],
  "apiregistration.k8s.io/v1": ["APIService"],
};
const virtualKinds: Readonly<Record<string, readonly string[]>> = {
  "authorization.k8s.io/v1": [
    ...["SelfSubjectAccessReview", "SubjectAccessReview", "LocalSubjectAccessReview"],
    "SelfSubjectRulesReview",
  ],
  "authentication.k8s.io/v1": ["TokenReview", "SelfSubjectReview"],
};

for (const [apiVersion, names] of Object.entries({ ...kinds, ...virtualKinds })) {
  test(`every kind of ${apiVersion} has its component and its list`, () => {
    const groupVersion = parseApiVersion(apiVersion);
    const document = documents.document(openAPIPathKey(groupVersion));
    assert.ok(document);
    for (const kind of names) {
      const wanted = apiVersion in kinds ? [kind, `${kind}List`] : [kind];
      for (const one of wanted) {
        const component = findSchema(document, { ...groupVersion, kind: one });
        assert.ok(component?.endsWith(`.${groupVersion.version}.${one}`), `${apiVersion} ${one}: ${component}`);
      }
    }
  });
}

test("documents have the shape of the reference server's", () => {
  const document = documents.document("apis/apps/v1");
  assert.equal(document?.openapi, "3.0.0");
  assert.deepEqual(document.info, { title: "Kubernetes", version: documents.release });
  const names = Object.keys(document.components.schemas);
  assert.deepEqual(names, [...names].sort());
  assert.deepEqual(document.components.schemas["io.k8s.api.apps.v1.Deployment"]?.["properties"], {
    apiVersion: { type: "string" },
    kind: { type: "string" },
    metadata: { allOf: [{ $ref: `#/components/schemas/${metaV1}.ObjectMeta` }], default: {} },
    spec: { allOf: [{ $ref: "#/components/schemas/io.k8s.api.apps.v1.DeploymentSpec" }], default: {} },
    status: { allOf: [{ $ref: "#/components/schemas/io.k8s.api.apps.v1.DeploymentStatus" }], default: {} },
  });
});

test("every document defines all it refers to", () => {
  for (const key of documents.keys) {
    const schemas = documents.document(key)?.components.schemas ?? {};
    const closure = componentClosure(schemas, Object.keys(schemas));
    const text = JSON.stringify(schemas);
    for (const [, name] of text.matchAll(/"#\/components\/schemas\/([^"]+)"/g)) {
      assert.ok(name !== undefined && name in closure, `${key} refers to ${name}`);
    }
  }
});

test("what objects share is described everywhere it is used", () => {
  for (const name of ["ObjectMeta", "ListMeta", "Status", "DeleteOptions", "Patch", "WatchEvent", "APIResourceList"]) {
    for (const key of ["api/v1", "apis/apps/v1", "apis/coordination.k8s.io/v1"]) {
      assert.ok(documents.document(key)?.components.schemas[`${metaV1}.${name}`], `${name} of ${key}`);
    }
  }
});

test("subresources bring their kinds: scale in apps/v1, token in v1", () => {
  const apps = documents.document("apis/apps/v1");
  assert.ok(apps && findSchema(apps, { group: "autoscaling", version: "v1", kind: "Scale" }));
  const core = documents.document("api/v1");
  assert.ok(core && findSchema(core, { group: "authentication.k8s.io", version: "v1", kind: "TokenRequest" }));
});

test("DeleteOptions lists the core group and the document's own", () => {
  const name = `${metaV1}.DeleteOptions`;
  const of = (group: string): GroupVersionKind => ({ group, kind: "DeleteOptions", version: "v1" });
  assert.deepEqual(kindsOf(documents.document("api/v1")?.components.schemas[name]), [of("")]);
  assert.deepEqual(kindsOf(documents.document("apis/apps/v1")?.components.schemas[name]), [of(""), of("apps")]);
  assert.deepEqual(kindsOf(documents.document("apis/batch/v1")?.components.schemas[name]), [of(""), of("batch")]);
});

test("DeleteOptions of custom resources lists every group-version that clients know", () => {
  const { [`${metaV1}.DeleteOptions`]: schema, ...rest } = builtinComponentsForCustomResources([
    `${metaV1}.DeleteOptions`,
  ]);
  assert.deepEqual(Object.keys(rest), [`${metaV1}.Preconditions`]);
  const list = kindsOf(schema) as GroupVersionKind[];
  assert.equal(list.length, 53);
  assert.deepEqual(list[0], { group: "", kind: "DeleteOptions", version: "v1" });
  assert.ok(list.some(({ group, version }) => group === "storage.k8s.io" && version === "v1"));
});

test("facts are kept: defaults, formats, enums, lists and how they are patched; descriptions are not", () => {
  const core = documents.document("api/v1")?.components.schemas ?? {};
  const pod = core["io.k8s.api.core.v1.PodSpec"]?.["properties"] as Record<string, JsonObject>;
  assert.deepEqual(pod["containers"], {
    items: { allOf: [{ $ref: "#/components/schemas/io.k8s.api.core.v1.Container" }], default: {} },
    type: "array",
    "x-kubernetes-list-map-keys": ["name"],
    "x-kubernetes-list-type": "map",
    "x-kubernetes-patch-merge-key": "name",
    "x-kubernetes-patch-strategy": "merge",
  });
  assert.deepEqual(pod["restartPolicy"], { enum: ["Always", "Never", "OnFailure"], type: "string" });
  assert.equal(pod["volumes"]?.["x-kubernetes-patch-strategy"], "merge,retainKeys");
  const port = core["io.k8s.api.core.v1.ServicePort"]?.["properties"] as Record<string, JsonObject>;
  assert.deepEqual(port["protocol"], { default: "TCP", enum: ["SCTP", "TCP", "UDP"], type: "string" });
  assert.deepEqual(port["port"], { default: 0, format: "int32", type: "integer" });
  assert.equal(core["io.k8s.api.core.v1.ObjectReference"]?.["x-kubernetes-map-type"], "atomic");
  for (const schema of Object.values(core)) assert.ok(!Object.hasOwn(schema, "description"));
});

test("a property called description is a fact", () => {
  const schemas = documents.document("apis/apiextensions.k8s.io/v1")?.components.schemas ?? {};
  const { properties } = schemas["io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps"] ?? {};
  assert.deepEqual((properties as JsonObject)["description"], { type: "string" });
});

test("a document is built once; an unknown key has none", () => {
  assert.equal(documents, builtinOpenAPI());
  assert.equal(documents.document("api/v1"), documents.document("api/v1"));
  for (const key of ["apis/apps/v2", "toString", "__proto__", ""]) assert.equal(documents.document(key), undefined);
});

test("keys are sorted and name discovery documents too", () => {
  assert.deepEqual(documents.keys, [...documents.keys].sort());
  for (const key of ["api", "apis", "apis/apps", "version"]) assert.ok(documents.keys.includes(key), key);
});

test("the source and its licence are named", () => {
  assert.match(documents.release, /^v1\.36\.\d+$/);
  assert.match(documents.source, /k8s\.io\/kubernetes v1\.36.*Kubernetes Authors.*Apache-2\.0/);
});
