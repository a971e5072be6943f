// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import { controllerReference, type KubeObject } from "@purlin/kube-objects/object";
import { packageTypes } from "../../package-kinds.ts";
import { serviceAccountOf } from "./runtime-scene.ts";
import { serviceOf } from "./shared-service.ts";

const revisionOf = (kind: "Function" | "Provider"): KubeObject => ({
  ...packageTypes[kind].revision,
  metadata: { name: "x-aaaaaaaaaaaa", uid: "u-1", labels: { "pkg.crossplane.io/package": "x" } },
});
const owner = (kind: string): KubeObject["metadata"]["ownerReferences"] => [
  {
    apiVersion: "pkg.crossplane.io/v1",
    kind,
    name: "x-aaaaaaaaaaaa",
    uid: "u-1",
    controller: true,
    blockOwnerDeletion: true,
  },
];

const services: Readonly<
  Record<string, { reason: string; kind: "Function" | "Provider"; config?: JsonObject; want: KubeObject }>
> = {
  Function: {
    reason: "headless: callers balance between Pods themselves",
    kind: "Function",
    want: {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "x", namespace: "ns", ownerReferences: owner("FunctionRevision") ?? [] },
      spec: {
        clusterIP: "None",
        ports: [{ name: "grpc", port: 9443, protocol: "TCP", targetPort: "grpc", appProtocol: "tls" }],
        selector: { "pkg.crossplane.io/revision": "x-aaaaaaaaaaaa", "pkg.crossplane.io/function": "x" },
      },
    },
  },
  Provider: {
    reason: "an address for the API server to call webhooks at",
    kind: "Provider",
    want: {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "x", namespace: "ns", ownerReferences: owner("ProviderRevision") ?? [] },
      spec: {
        ports: [{ name: "webhook", port: 9443, protocol: "TCP", targetPort: "webhook" }],
        selector: { "pkg.crossplane.io/revision": "x-aaaaaaaaaaaa", "pkg.crossplane.io/provider": "x" },
      },
    },
  },
  Templated: {
    reason: "labels and annotations are the template's",
    kind: "Provider",
    config: { serviceTemplate: { metadata: { labels: { a: "b" }, annotations: { c: "d" } } } },
    want: {
      apiVersion: "v1",
      kind: "Service",
      metadata: {
        name: "x",
        namespace: "ns",
        labels: { a: "b" },
        annotations: { c: "d" },
        ownerReferences: owner("ProviderRevision") ?? [],
      },
      spec: {
        ports: [{ name: "webhook", port: 9443, protocol: "TCP", targetPort: "webhook" }],
        selector: { "pkg.crossplane.io/revision": "x-aaaaaaaaaaaa", "pkg.crossplane.io/provider": "x" },
      },
    },
  },
};
for (const [name, { reason, kind, config = {}, want }] of Object.entries(services)) {
  test(`Service ${name}: ${reason}`, () => {
    const revision = revisionOf(kind);
    const place = { name: "x", namespace: "ns", owner: controllerReference(revision) };
    assert.deepEqual(serviceOf({ type: packageTypes[kind], revision, config, place }), want);
  });
}

const account = (more: object): KubeObject => ({
  apiVersion: "v1",
  kind: "ServiceAccount",
  metadata: { name: "x", namespace: "ns", ownerReferences: owner("FunctionRevision") ?? [] },
  ...more,
});
const accounts: Readonly<
  Record<string, { reason: string; config?: JsonObject; existing?: KubeObject; secrets?: string[]; want: KubeObject }>
> = {
  Plain: { reason: "nothing to pull with, nothing said", want: account({}) },
  Secrets: {
    reason: "each once, in order",
    secrets: ["b", "a", "b"],
    want: account({ imagePullSecrets: [{ name: "b" }, { name: "a" }] }),
  },
  Existing: {
    reason: "pull secrets that others added stay, and come first",
    existing: account({ imagePullSecrets: [{ name: "theirs" }, { name: "a" }] }),
    secrets: ["a", "b"],
    want: account({ imagePullSecrets: [{ name: "theirs" }, { name: "a" }, { name: "b" }] }),
  },
  Templated: {
    reason: "labels and annotations are the template's",
    config: { serviceAccountTemplate: { metadata: { labels: { a: "b" }, annotations: { c: "d" } } } },
    want: {
      ...account({}),
      metadata: {
        name: "x",
        namespace: "ns",
        labels: { a: "b" },
        annotations: { c: "d" },
        ownerReferences: owner("FunctionRevision") ?? [],
      },
    },
  },
};
for (const [name, { reason, config = {}, existing, secrets = [], want }] of Object.entries(accounts)) {
  test(`ServiceAccount ${name}: ${reason}`, () => {
    const place = { name: "x", namespace: "ns", owner: controllerReference(revisionOf("Function")) };
    assert.deepEqual(serviceAccountOf({ config, place, existing, pullSecrets: secrets }), want);
  });
}
