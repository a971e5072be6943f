// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";
import { portable } from "./portable-object.ts";

const object = (type: string, spec?: JsonObject, metadata: JsonObject = {}): KubeObject => {
  const [kind = "", ...group] = type.split("/").reverse();
  return {
    apiVersion: group.reverse().join("/"),
    kind,
    metadata: { name: "a", ...metadata },
    ...(spec === undefined ? {} : { spec }),
  };
};
const specOf = (type: string, spec: JsonObject, metadata: JsonObject = {}, isComposite = false): unknown =>
  portable(object(type, spec, metadata), { isComposite })["spec"];
const metadataOf = (metadata: JsonObject): unknown =>
  portable(object("v1/ConfigMap", undefined, metadata), { isComposite: false })["metadata"];

describe("metadata", () => {
  test("has nothing that the API server sets", () => {
    const set = {
      uid: "u",
      resourceVersion: "1",
      generation: 2,
      creationTimestamp: "t",
      managedFields: [],
      selfLink: "/",
      deletionTimestamp: "t",
      deletionGracePeriodSeconds: 0,
      ownerReferences: [],
      generateName: "a-",
    };
    assert.deepEqual(metadataOf({ ...set, namespace: "team" }), { name: "a", namespace: "team" });
  });

  test("has the labels, annotations and finalizers of its author", () => {
    assert.deepEqual(
      metadataOf({
        labels: {
          app: "shop",
          "crossplane.io/composite": "x",
          "crossplane.io/claim-name": "c",
          "crossplane.io/claim-namespace": "n",
        },
        annotations: {
          note: "kept",
          "kubectl.kubernetes.io/last-applied-configuration": "{}",
          "kubectl.kubernetes.io/last-applied-configuration-2": "kept",
          "deployment.kubernetes.io/revision": "3",
          "pv.kubernetes.io/bind-completed": "yes",
        },
        finalizers: [
          "example.org/keep",
          "composite.apiextensions.crossplane.io",
          "foregroundDeletion",
          "kubernetes.io/pvc-protection",
        ],
      }),
      {
        name: "a",
        labels: { app: "shop" },
        annotations: { note: "kept", "kubectl.kubernetes.io/last-applied-configuration-2": "kept" },
        finalizers: ["example.org/keep"],
      },
    );
  });

  test("has no empty maps and lists in their place", () => {
    const metadata = {
      labels: { "crossplane.io/composite": "x" },
      annotations: { "deployment.kubernetes.io/revision": "3" },
      finalizers: ["orphan"],
    };
    assert.deepEqual(metadataOf(metadata), { name: "a" });
  });
});

describe("an object", () => {
  test("has no status, and a ServiceAccount no Secrets", () => {
    const plain = { ...object("v1/ConfigMap"), data: { a: "b" }, status: { x: 1 } };
    assert.deepEqual(portable(plain, { isComposite: false }), {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "a" },
      data: { a: "b" },
    });
    const account = { ...object("v1/ServiceAccount"), secrets: [{ name: "t" }], imagePullSecrets: [{ name: "p" }] };
    assert.deepEqual(Object.keys(portable(account, { isComposite: false })), [
      "apiVersion",
      "kind",
      "metadata",
      "imagePullSecrets",
    ]);
  });

  test("is not changed", () => {
    const one = object("v1/Service", { clusterIP: "10.0.0.1" }, { uid: "u", labels: { a: "b" } });
    const before = structuredClone(one);
    portable(one, { isComposite: false });
    assert.deepEqual(one, before);
  });
});

describe("the spec of a composite resource", () => {
  const of = (spec: JsonObject): unknown => specOf("example.org/v1/App", spec, {}, true);
  const composed = { resourceRef: {}, resourceRefs: [], claimRef: {}, publishConnectionDetailsTo: {} };

  test("has nothing that was composed", () => {
    assert.deepEqual(of({ ...composed, size: 1, crossplane: { ...composed, compositionRef: { name: "c" } } }), {
      size: 1,
      crossplane: { compositionRef: { name: "c" } },
    });
  });

  test("has its revision only if it is pinned", () => {
    const ref = { compositionRevisionRef: { name: "r" } };
    assert.deepEqual(of({ crossplane: ref }), {});
    assert.deepEqual(of({ ...ref }), {});
    const manual = { ...ref, compositionUpdatePolicy: "Manual" };
    assert.deepEqual(of({ crossplane: manual }), { crossplane: manual });
  });

  test("of another object keeps such fields", () => {
    assert.deepEqual(specOf("example.org/v1/App", { resourceRef: { name: "x" } }), { resourceRef: { name: "x" } });
  });
});

describe("the spec of a kind of Kubernetes", () => {
  test("a Service has no address, unless it is headless", () => {
    assert.deepEqual(
      specOf("v1/Service", { clusterIP: "10.0.0.1", clusterIPs: ["10.0.0.1"], healthCheckNodePort: 1, ports: [] }),
      { ports: [] },
    );
    const headless = { clusterIP: "None", clusterIPs: ["None"] };
    assert.deepEqual(specOf("v1/Service", headless), headless);
  });

  test("a Service has the ports of nodes that its author chose", () => {
    const spec = { type: "NodePort", ports: [{ port: 80, nodePort: 30_123 }, { port: 443 }] };
    const given = { type: "NodePort", ports: [{ port: 80 }, { port: 443 }] };
    const managers = (fields: JsonObject): JsonObject => ({
      managedFields: [{ manager: "a", operation: "Apply", fieldsV1: { "f:spec": { "f:ports": fields } } }],
    });
    const ofPort = (fields: JsonObject): JsonObject => ({ 'k:{"port":80,"protocol":"TCP"}': fields });
    assert.deepEqual(specOf("v1/Service", spec), given);
    assert.deepEqual(specOf("v1/Service", spec, managers(ofPort({ "f:port": {} }))), given);
    assert.deepEqual(specOf("v1/Service", spec, managers(ofPort({ "f:port": {}, "f:nodePort": {} }))), spec);
  });

  test("a simulated Pod has no mark, and a Job no labels with its uid", () => {
    const marked = { annotations: { "purlin.dev/simulated": "true", note: "1" } };
    const pod = portable(object("v1/Pod", {}, marked), { isComposite: false });
    assert.deepEqual(pod["metadata"], { name: "a", annotations: { note: "1" } });
    const labels = { app: "x", "controller-uid": "u", "batch.kubernetes.io/job-name": "a" };
    const job = (spec: JsonObject): unknown =>
      portable(object("batch/v1/Job", spec, { labels }), { isComposite: false })["metadata"];
    assert.deepEqual(job({}), { name: "a", labels: { app: "x" } });
    assert.deepEqual(job({ manualSelector: true }), { name: "a", labels });
  });

  test("a PersistentVolumeClaim has no volume, and no class that only this server has", () => {
    const spec = { volumeName: "pv", storageClassName: "standard", accessModes: [] };
    assert.deepEqual(specOf("v1/PersistentVolumeClaim", spec), { storageClassName: "standard", accessModes: [] });
    const annotations = { "volume.kubernetes.io/storage-provisioner": "purlin.dev/simulated" };
    assert.deepEqual(specOf("v1/PersistentVolumeClaim", spec, { annotations }), { accessModes: [] });
  });

  test("a Namespace has no finalizers", () => {
    assert.deepEqual(specOf("v1/Namespace", { finalizers: ["kubernetes"] }), {});
  });

  test("a Pod has neither node nor token", () => {
    const mounts = [{ name: "kube-api-access-x" }, { name: "data" }];
    const spec = {
      nodeName: "n",
      volumes: mounts,
      containers: [{ name: "c", volumeMounts: mounts }, { name: "d" }],
      initContainers: [{ name: "i", volumeMounts: [{ name: "kube-api-access-x" }] }],
    };
    assert.deepEqual(specOf("v1/Pod", spec), {
      volumes: [{ name: "data" }],
      containers: [{ name: "c", volumeMounts: [{ name: "data" }] }, { name: "d" }],
      initContainers: [{ name: "i", volumeMounts: [] }],
    });
  });

  test("a Job has no selector by its uid, unless its author wrote it", () => {
    const template = (labels: JsonObject): JsonObject => ({ metadata: { labels }, spec: {} });
    const uid = {
      "controller-uid": "u",
      "batch.kubernetes.io/controller-uid": "u",
      "job-name": "a",
      "batch.kubernetes.io/job-name": "a",
    };
    const spec = { selector: { matchLabels: uid }, template: template({ ...uid, app: "x" }) };
    assert.deepEqual(specOf("batch/v1/Job", spec), { template: template({ app: "x" }) });
    assert.deepEqual(specOf("batch/v1/Job", { ...spec, manualSelector: true }), { ...spec, manualSelector: true });
    assert.deepEqual(specOf("batch/v1/Job", { selector: {}, template: {} }), { template: {} });
  });

  test("of any other kind stays", () => {
    assert.deepEqual(specOf("apps/v1/Deployment", { selector: { matchLabels: {} } }), {
      selector: { matchLabels: {} },
    });
  });
});
