// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { KubeObject } from "@purlin/kube-objects/object";
import { packageTypes } from "../package-kinds.ts";
import {
  currentByDigest,
  currentByGeneration,
  desiredRevision,
  numberOfCurrent,
  type RevisionInput,
} from "./package-revision.ts";

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
    why: "with the flag on, it records its content and has a certificate of its own",
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

const hex = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";
const identity = { packageName: "function-bucket", digest: `sha256:${hex}`, generation: 1 };

const revision = (name: string, number: number, digest?: string): KubeObject => ({
  apiVersion: "pkg.crossplane.io/v1",
  kind: "FunctionRevision",
  metadata: { name },
  spec: { revision: number, ...(digest !== undefined && { digest }) },
});

test("each generation has a revision of its own", () => {
  const first = currentByGeneration(identity, []);
  assert.deepEqual([first.name, first.existing], ["function-bucket-5d16ee38ddf6", undefined]);
  const made = revision(first.name, 1);
  assert.equal(currentByGeneration(identity, [made]).existing, made);
  const second = currentByGeneration({ ...identity, generation: 2 }, [made]);
  assert.deepEqual([second.name, second.existing], ["function-bucket-70c0d022c734", undefined]);
});

test("with digests, only the content makes a revision, whatever it is called", () => {
  const fresh = currentByDigest(identity, []);
  assert.equal(fresh.name, "function-bucket-2cf24dba5fb0");
  const renamed = revision("anything", 3, identity.digest);
  const older = revision("older", 2, identity.digest);
  const other = revision("function-bucket-2cf24dba5fb0", 4, `sha256:${"0".repeat(64)}`);
  assert.equal(currentByDigest({ ...identity, generation: 9 }, [older, renamed, other]).name, "anything");
});

test("a revision from before digests were noted is known by either name", () => {
  for (const name of ["function-bucket-2cf24dba5fb0", "function-bucket-5d16ee38ddf6"]) {
    assert.equal(currentByDigest(identity, [revision(name, 1)]).existing?.metadata.name, name);
  }
  assert.equal(currentByDigest(identity, [revision("function-bucket-70c0d022c734", 1)]).existing, undefined);
});

test("the current revision always has the highest number", () => {
  const a = revision("a", 1);
  const b = revision("b", 2);
  assert.equal(numberOfCurrent({ name: "a", existing: undefined }, []), 1);
  assert.equal(numberOfCurrent({ name: "b", existing: b }, [a, b]), 2);
  assert.equal(numberOfCurrent({ name: "a", existing: a }, [a, b]), 3, "going back renumbers");
  assert.equal(numberOfCurrent({ name: "c", existing: undefined }, [a, b]), 3);
});
