// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { KubeObject } from "@purlin/kube-objects/object";
import { packageTypes } from "../../package-kinds.ts";
import { applyProviderRoles } from "./provider-roles.ts";

const type = packageTypes.Provider;
const account = { namespace: "crossplane-system", name: "fleet-1" };
const signal = new AbortController().signal;

interface Wish {
  readonly name: string;
  readonly names: readonly string[];
  readonly family?: string;
  readonly image?: string;
  readonly capabilities?: readonly string[];
}

function revisionOf({
  name,
  names,
  family,
  image = "registry.example.org/acme/fleet:v1",
  capabilities,
}: Wish): KubeObject {
  const kind = "CustomResourceDefinition";
  const labels = family === undefined ? {} : { "pkg.crossplane.io/provider-family": family };
  const objectRefs = names.map((one) => ({ apiVersion: "apiextensions.k8s.io/v1", kind, name: one }));
  return {
    ...type.revision,
    metadata: { name, uid: name, labels },
    spec: { image },
    status: { objectRefs, ...(capabilities && { capabilities }) },
  } as unknown as KubeObject;
}

/** Applies the roles of the first revision to a store and returns what was written. */
async function applied(revisions: readonly KubeObject[], stored: readonly KubeObject[] = []): Promise<KubeObject[]> {
  const written: KubeObject[] = [];
  const [revision] = revisions;
  assert.ok(revision);
  const client = {
    list: async () => revisions,
    get: async (of: KubeObject, { name }: { name: string }) =>
      stored.find((one) => one.kind === of.kind && one.metadata.name === name),
  };
  const grants = {
    async apply(object: KubeObject) {
      written.push(object);
      return object;
    },
  };
  await applyProviderRoles({ client, grants } as never, { type, revision, account }, signal);
  return written;
}

const rulesOf = (role: KubeObject | undefined): readonly unknown[] => (role?.["rules"] ?? []) as readonly unknown[];

test("references that a user wrote into the status of a revision or of its family grant no wildcards and no kinds of Kubernetes", async () => {
  const forged = ["*.*", "*.b.example.org", "secrets.", "secrets", "pods.apps", "a/b.example.org", "nodes.*", "x.y"];
  const kubernetes = ["clusterroles.rbac.authorization.k8s.io", "providers.pkg.crossplane.io"];
  const family = "fleet";
  const all = [
    revisionOf({ name: "fleet-1", names: ["ships.b.example.org", ...forged, ...kubernetes], family }),
    revisionOf({ name: "forged", names: ["docks.b.example.org", ...forged, ...kubernetes], family }),
  ];
  const [edit] = await applied(all);
  const resources = ["docks", "docks/status", "ships", "ships/status"];
  assert.deepEqual(rulesOf(edit), [{ apiGroups: ["b.example.org"], resources, verbs: ["*"] }]);
});

test("a revision may work with what it installed, its own leases and secrets, and nothing else", async () => {
  const [edit, view, system, binding] = await applied([
    revisionOf({ name: "fleet-1", names: ["ships.b.example.org", "fleets.a.example.org", "docks.b.example.org"] }),
  ]);
  const a = ["fleets", "fleets/status"];
  const b = ["docks", "docks/status", "ships", "ships/status"];
  const verbs = ["get", "list", "watch", "update", "patch", "create"];
  assert.deepEqual(rulesOf(system), [
    { apiGroups: ["a.example.org"], resources: a, verbs },
    { apiGroups: ["b.example.org"], resources: b, verbs },
    { apiGroups: ["a.example.org", "b.example.org"], resources: ["*/finalizers"], verbs: ["update"] },
    {
      apiGroups: ["", "coordination.k8s.io"],
      resources: ["secrets", "configmaps", "events", "leases"],
      verbs: ["*"],
    },
  ]);
  assert.deepEqual(system?.metadata.labels, { "rbac.crossplane.io/system": "fleet-1" });
  assert.deepEqual(rulesOf(edit)[0], { apiGroups: ["a.example.org"], resources: a, verbs: ["*"] });
  assert.deepEqual(Object.keys(edit?.metadata.labels ?? {}), [
    "rbac.crossplane.io/aggregate-to-crossplane",
    "rbac.crossplane.io/aggregate-to-admin",
    "rbac.crossplane.io/aggregate-to-edit",
  ]);
  assert.deepEqual(rulesOf(view)[0], { apiGroups: ["a.example.org"], resources: a, verbs: ["get", "list", "watch"] });
  assert.equal(binding?.metadata.name, system?.metadata.name);
  assert.deepEqual(binding?.["subjects"], [{ kind: "ServiceAccount", ...account }]);
  assert.equal(binding?.metadata.ownerReferences?.[0]?.uid, "fleet-1");
});

test("a revision without resources gets no roles", async () => {
  assert.deepEqual(await applied([revisionOf({ name: "fleet-1", names: [] })]), []);
});

test("a Provider that starts safely may read CRDs", async () => {
  const safe = revisionOf({ name: "fleet-1", names: ["fleets.a.example.org"], capabilities: ["SafeStart"] });
  const [, , system] = await applied([safe]);
  assert.ok(JSON.stringify(system?.["rules"]).includes("customresourcedefinitions"));
});

test("members of a family share their resources, but only those of the same organization", async () => {
  const own = revisionOf({ name: "fleet-1", names: ["fleets.a.example.org"], family: "sea" });
  const [, , system] = await applied([
    own,
    revisionOf({ name: "dock-1", names: ["docks.b.example.org"], family: "sea" }),
    revisionOf({
      name: "other-1",
      names: ["kegs.c.example.org"],
      family: "sea",
      image: "registry.example.org/evil/x:v1",
    }),
    revisionOf({ name: "plain-1", names: ["cups.d.example.org"] }),
  ]);
  const text = JSON.stringify(system?.["rules"]);
  assert.ok(text.includes("b.example.org"));
  assert.ok(!text.includes("c.example.org") && !text.includes("d.example.org"));
});

test("roles that are as wanted are not written again; a changed one is", async () => {
  const revision = revisionOf({ name: "fleet-1", names: ["fleets.a.example.org"] });
  const stored = await applied([revision]);
  assert.deepEqual(await applied([revision], stored), []);
  const [edit, ...rest] = stored;
  const narrowed = { ...edit, rules: [] } as unknown as KubeObject;
  assert.deepEqual(await applied([revision], [narrowed, ...rest]), [edit]);
});

test("definitions of kinds of others give no rights, whatever installed them", async () => {
  const foreign = ["functions.pkg.crossplane.io", "deployments.apps", "roles.rbac.authorization.k8s.io", "secrets"];
  assert.deepEqual(await applied([revisionOf({ name: "fleet-1", names: foreign })]), []);
  const roles = await applied([revisionOf({ name: "fleet-1", names: [...foreign, "ships.example.org"] })]);
  const groups = roles.flatMap((role) => rulesOf(role).flatMap((rule) => (rule as { apiGroups: string[] }).apiGroups));
  assert.deepEqual([...new Set(groups)].toSorted(), ["", "coordination.k8s.io", "example.org"]);
});
