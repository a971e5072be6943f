// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { KubeObject } from "@purlin/kube-objects/object";
import { packageTypes } from "../package-kinds.ts";
import { desiredRevision, type RevisionInput } from "./desired-revision.ts";

const digest = `sha256:${"0".repeat(64)}`;
const owner = (spec: object = {}, metadata: object = {}): KubeObject =>
  ({
    ...packageTypes.Function.package,
    metadata: { name: "f", uid: "u1", ...metadata },
    spec: { package: "registry.example.org/acme/f:v1", ...spec },
  }) as KubeObject;

const made = (more: Partial<RevisionInput> = {}): KubeObject =>
  desiredRevision({
    type: packageTypes.Function,
    package: owner(),
    name: "f-1",
    number: 3,
    desiredState: "Active",
    digest: undefined,
    isNamedByRevision: false,
    hasRuntime: true,
    copiesLabels: false,
    ...more,
  });

test("a revision is made of what its package says, and is its package's", () => {
  const spec = {
    packagePullSecrets: [{ name: "s" }],
    packagePullPolicy: "Always",
    ignoreCrossplaneConstraints: true,
    skipDependencyResolution: true,
    commonLabels: { a: "b" },
    commonAnnotations: { c: "d" },
    runtimeConfigRef: { name: "default" },
  };
  const { revisionHistoryLimit: _, ...rest } = { ...spec, revisionHistoryLimit: 5 };
  assert.deepEqual(made({ package: owner({ ...spec, revisionHistoryLimit: 5, activeRevisionLimit: 2 }) }), {
    apiVersion: "pkg.crossplane.io/v1",
    kind: "FunctionRevision",
    metadata: {
      name: "f-1",
      labels: { "pkg.crossplane.io/package": "f" },
      ownerReferences: [
        {
          apiVersion: "pkg.crossplane.io/v1",
          kind: "Function",
          name: "f",
          uid: "u1",
          controller: true,
          blockOwnerDeletion: true,
        },
      ],
    },
    spec: {
      desiredState: "Active",
      image: "registry.example.org/acme/f:v1",
      revision: 3,
      ...rest,
      tlsServerSecretName: "f-tls-server",
    },
  });
});

const specOf = (object: KubeObject): Record<string, unknown> => object["spec"] as Record<string, unknown>;
const rows: { why: string; input: Partial<RevisionInput>; spec: Record<string, unknown> }[] = [
  {
    why: "with the flag on, it knows its content and has a certificate of its own",
    input: { digest, isNamedByRevision: true },
    spec: { digest, tlsServerSecretName: "f-1-tls-server" },
  },
  {
    why: "a Provider calls others, too",
    input: { type: packageTypes.Provider },
    spec: { tlsServerSecretName: "f-tls-server", tlsClientSecretName: "f-tls-client" },
  },
  {
    why: "without a runtime of ours, nothing is set about the runtime",
    input: { hasRuntime: false, package: owner({ runtimeConfigRef: { name: "x" } }) },
    spec: { tlsServerSecretName: undefined, runtimeConfigRef: undefined },
  },
  { why: "Manual as shipped has no state", input: { desiredState: "" }, spec: { desiredState: "" } },
];

for (const { why, input, spec } of rows) {
  test(`the spec of a revision: ${why}`, () => {
    const actual = specOf(made(input));
    for (const [field, value] of Object.entries(spec)) assert.deepEqual(actual[field], value, field);
  });
}

test("the names of secrets are names however long the package's is", () => {
  const name = "n".repeat(253);
  const secret = String(specOf(made({ package: owner({}, { name }) }))["tlsServerSecretName"]);
  assert.equal(secret.length, 253);
  assert.ok(secret.endsWith("n-tls-server"));
});

test("labels are copied if configured, except reserved ones", () => {
  const labels = { channel: "alpha", "pkg.crossplane.io/package": "evil", "pkg.crossplane.io/revision": "evil" };
  const labelled = owner({}, { labels });
  assert.deepEqual(made({ package: labelled, copiesLabels: true }).metadata.labels, {
    channel: "alpha",
    "pkg.crossplane.io/package": "f",
  });
  assert.deepEqual(made({ package: labelled }).metadata.labels, { "pkg.crossplane.io/package": "f" });
});
