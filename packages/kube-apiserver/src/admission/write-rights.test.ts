// SPDX-License-Identifier: Apache-2.0
// The texts are those of kube-apiserver 1.36.

import assert from "node:assert/strict";
import { test } from "node:test";
import { finish } from "@purlin/base";
import type { JsonObject } from "@purlin/kube-objects/json";
import { answerValue, startTestServer } from "../../test/test-server.ts";
import type { Authorizer } from "../auth/authorizer.ts";
import { Registry } from "../registry/registry.ts";
import { defineKinds } from "../strategy/kind-rules.ts";
import type { AdmissionAttributes } from "./admission.ts";
import { ownerAccessPlugin, signerPlugins } from "./write-rights.ts";

const core = defineKinds({ group: "", version: "v1", priority: 1 }, [
  { resource: "configmaps", kind: "ConfigMap" },
  { resource: "nodes", kind: "Node", cluster: true },
]);
const { catalog } = new Registry(core.map(({ type }) => type));
const resources = [{ resource: "flunders", responseKind: { kind: "Flunder" }, scope: "Namespaced" }];
const remote = { remote: { group: "wardle.org", version: "v1" }, documents: { resources } };

const owner = (more: JsonObject = {}): JsonObject => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  name: "o",
  uid: "1",
  ...more,
});
const blocking = (more: JsonObject = {}): JsonObject => owner({ blockOwnerDeletion: true, ...more });
const map = (...ownerReferences: JsonObject[]): JsonObject => ({ metadata: { name: "m", ownerReferences } });

interface Write {
  readonly now: JsonObject;
  readonly old?: JsonObject;
  readonly more?: Partial<AdmissionAttributes>;
  /** As `VERB GROUP RESOURCE[/SUBRESOURCE] NAMESPACE/NAME`, or without the name for all objects. */
  readonly rights?: readonly string[];
  /** What is refused; admitted without it. */
  readonly says?: string;
}

/** What the plugin refuses, and what it asked for. */
function judge({ now, old, more, rights = [] }: Write): {
  readonly said: string | undefined;
  readonly asked: string[];
} {
  const asked: string[] = [];
  const authorizer: Authorizer = (_user, access) => {
    if (access.kind === "path") return { allowed: false, reason: "" };
    const { verb, group, resource, subresource, namespace, name } = access;
    const right = `${verb} ${group} ${resource}${subresource && `/${subresource}`} ${namespace}/${name}`;
    asked.push(right);
    return { allowed: [right, right.replace(/[^/]*$/, "")].some((one) => rights.includes(one)), reason: "why" };
  };
  const plugin = ownerAccessPlugin({ authorizer, catalog: () => catalog, remotes: () => [remote] });
  const write = {
    operation: old === undefined ? "CREATE" : "UPDATE",
    type: { group: "", version: "v1", resource: "configmaps" },
    subresource: "",
    namespace: "ns",
    name: "m",
    object: now,
    old,
    user: { name: "ann", groups: [] },
    ...more,
  };
  const attributes = write as object as AdmissionAttributes;
  if (!plugin.handles(attributes)) return { said: undefined, asked };
  try {
    if (plugin.validating !== undefined) finish(plugin.validating(attributes));
    return { said: undefined, asked };
  } catch (error) {
    return { said: (error as Error).message, asked };
  }
}

const undeletable = 'configmaps "m" is forbidden: cannot set an ownerRef on a resource you can\'t delete: why, <nil>';
const unfinalizable =
  'configmaps "m" is forbidden: cannot set blockOwnerDeletion if an ownerReference refers to a resource you can\'t set finalizers on: why, <nil>';
const unmapped = (apiVersion: string, kind: string): string =>
  `configmaps "m" is forbidden: cannot set blockOwnerDeletion in this case because cannot find RESTMapping for APIVersion ${apiVersion} Kind ${kind}: no matches for kind "${kind}" in version "${apiVersion}"`;

const deletes = "delete  configmaps ns/m";
const finalizes = "update  configmaps/finalizers ns/o";
const finalizesAll = "update * */finalizers /*";

const writes: Readonly<Record<string, Write>> = {
  "a new object with an owner: the creator decides": { now: map(owner()) },
  "a new object without owners": { now: map() },
  "an update that adds an owner": { now: map(owner()), old: map(), says: undeletable },
  "an update that adds an owner, with the right to delete": { now: map(owner()), old: map(), rights: [deletes] },
  "an update that removes an owner": { now: map(), old: map(owner()), says: undeletable },
  "an update that changes an owner": { now: map(owner({ controller: true })), old: map(owner()), says: undeletable },
  "an update that changes the order of owners": {
    now: map(owner({ uid: "2" }), owner()),
    old: map(owner(), owner({ uid: "2" })),
    says: undeletable,
  },
  "an update of something else": { now: { ...map(blocking()), data: { a: "1" } }, old: map(blocking()) },
  "an empty list in place of none": { now: map(), old: { metadata: { name: "m" } } },
  "a deletion": { now: map(owner()), old: map(), more: { operation: "DELETE" } },
  "the status of a Pod": {
    now: map(owner()),
    old: map(),
    more: { type: { group: "", resource: "pods" } as AdmissionAttributes["type"], subresource: "status" },
  },
  "the status of another kind needs the right to delete its status": {
    now: map(owner()),
    old: map(),
    more: { subresource: "status" },
    rights: [deletes],
    says: undeletable,
  },
  "a new object that blocks its owner": { now: map(blocking()), says: unfinalizable },
  "a new object that blocks its owner, with the right to set finalizers": { now: map(blocking()), rights: [finalizes] },
  "a new object that blocks one of two owners without rights": {
    now: map(blocking(), blocking({ name: "p", uid: "2" })),
    rights: [finalizes],
    says: unfinalizable,
  },
  "an update that blocks, with the right to delete only": {
    now: map(blocking()),
    old: map(owner()),
    rights: [deletes],
    says: unfinalizable,
  },
  "an update that blocks, with the right to set finalizers only": {
    now: map(blocking()),
    old: map(owner({ blockOwnerDeletion: false })),
    rights: [finalizes],
    says: undeletable,
  },
  "an update that blocks, with both rights": { now: map(blocking()), old: map(owner()), rights: [deletes, finalizes] },
  "an update of a reference that blocked before": {
    now: map(blocking({ controller: true })),
    old: map(blocking()),
    rights: [deletes],
  },
  "an owner of the cluster is in no namespace": {
    now: map(blocking({ kind: "Node" })),
    rights: ["update  nodes/finalizers /o"],
  },
  "a kind in lower case": { now: map(blocking({ kind: "configmap" })), rights: [finalizes] },
  "a list has a resource of its own": {
    now: map(blocking({ kind: "ConfigMapList" })),
    rights: ["update  configmaplists/finalizers ns/o"],
  },
  "an owner of another server": {
    now: map(blocking({ apiVersion: "wardle.org/v1", kind: "Flunder" })),
    rights: ["update wardle.org flunders/finalizers ns/o"],
  },
  "an owner of a kind that is not served": { now: map(blocking({ kind: "X" })), says: unmapped("v1", "X") },
  "an owner of a version that is not served": {
    now: map(blocking({ apiVersion: "g.org/v2" })),
    says: unmapped("g.org/v2", "ConfigMap"),
  },
  "an owner of a kind that is not served, with the right to set all finalizers": {
    now: map(blocking({ kind: "X" })),
    rights: [finalizesAll],
  },
  "a new object without a name yet": {
    now: { metadata: { generateName: "g-", ownerReferences: [blocking()] } },
    more: { name: "" },
    says: unfinalizable.replace('"m"', '"g-"'),
  },
};

for (const [reason, write] of Object.entries(writes)) {
  test(`${reason} (${write.says === undefined ? "admitted" : "refused"})`, () => {
    assert.equal(judge(write).said, write.says);
  });
}

test("a write that leaves the owners as they are asks for no rights", () => {
  assert.deepEqual(judge({ now: { ...map(blocking()), data: {} }, old: map(blocking()) }).asked, []);
  assert.deepEqual(judge({ now: map(blocking()), rights: [finalizesAll] }).asked, [finalizesAll]);
});

test("a right on all owners of a kind is asked for once, however many owners there are", () => {
  const owners = Array.from({ length: 1000 }, (_, index) => blocking({ name: `o${index}`, uid: `${index}` }));
  const nodes = owners.map((one) => ({ ...one, kind: "Node" }));
  const rights = ["update  configmaps/finalizers ns/", "update  nodes/finalizers /"];
  const { said, asked } = judge({ now: map(...owners, ...nodes), rights });
  assert.deepEqual([said, asked.length], [undefined, 3]);
  const { said: refused } = judge({ now: map(...owners, ...nodes), rights: rights.slice(0, 1) });
  assert.equal(refused, unfinalizable);
});

for (const [admissionPlugins, code] of [
  [["OwnerReferencesPermissionEnforcement"], 403],
  [[], 200],
] as const) {
  test(`a server with the plugins [${admissionPlugins.join()}] answers ${code} to a user who may not delete`, async () => {
    const mayUpdate: Authorizer = ({ name }, access) => ({
      allowed: name !== "ann" || access.verb !== "delete",
      reason: "",
    });
    await using server = await startTestServer({ admissionPlugins, authorizer: mayUpdate });
    const accounts = "/api/v1/namespaces/default/serviceaccounts";
    await server.post(accounts, { metadata: { name: "a" } });
    const response = await server.send(`${accounts}/a`, {
      method: "PATCH",
      headers: { "content-type": "application/merge-patch+json" },
      body: { metadata: { ownerReferences: [owner()] } },
      user: { name: "ann", groups: [] },
    });
    assert.equal(response.code, code, JSON.stringify(answerValue(response)));
  });
}

// The texts are those of kube-apiserver 1.36.

const type = { group: "certificates.k8s.io", version: "v1", resource: "certificatesigningrequests", kind: "x" };
const object = (status: JsonObject = {}): JsonObject => ({ spec: { signerName: "example.org/s" }, status });

/** What the plugins refuse about a write, when the user has rights as `VERB NAME`. */
function refusals(subresource: string, rights: readonly string[], now: JsonObject): string[] {
  const authorizer: Authorizer = (_user, access) => ({
    allowed:
      access.kind === "resource" && access.resource === "signers" && rights.includes(`${access.verb} ${access.name}`),
    reason: "",
  });
  const write = {
    operation: "UPDATE",
    type,
    subresource,
    object: now,
    old: object(),
    name: "r",
    user: { name: "ann" },
  };
  const attributes = write as object as AdmissionAttributes;
  return signerPlugins(authorizer)
    .filter((plugin) => plugin.handles(attributes))
    .flatMap((plugin) => {
      try {
        plugin.validate?.(attributes);
        return [];
      } catch (error) {
        return [(error as Error).message];
      }
    });
}

const approved = object({ conditions: [{ type: "Approved" }] });
const says = (verb: string): string =>
  `certificatesigningrequests.certificates.k8s.io "r" is forbidden: user not permitted to ${verb} requests with signerName "example.org/s"`;

const cases: Readonly<Record<string, readonly [subresource: string, right: string, now: JsonObject, want: string[]]>> =
  {
    "an approval without a right": ["approval", "", approved, [says("approve")]],
    "an approval with the right on the signer": ["approval", "approve example.org/s", approved, []],
    "an approval with the right on the domain": ["approval", "approve example.org/*", approved, []],
    "an approval with the right on another signer": ["approval", "approve example.org/t", approved, [says("approve")]],
    "an approval with the right to sign": ["approval", "sign example.org/s", approved, [says("approve")]],
    "an approval of a request that names another signer": [
      "approval",
      "approve example.org/t",
      { spec: { signerName: "example.org/t" } },
      [says("approve")],
    ],
    "a certificate without a right": ["status", "", object({ certificate: "eA==" }), [says("sign")]],
    "a condition without a right": ["status", "approve example.org/s", approved, [says("sign")]],
    "a certificate with the right to sign": ["status", "sign example.org/*", object({ certificate: "eA==" }), []],
    "a status that is the same": ["status", "", object(), []],
    "a write of the request itself": ["", "", approved, []],
  };

for (const [name, [subresource, right, now, want]] of Object.entries(cases)) {
  test(`${name} is ${want.length === 0 ? "admitted" : "refused"}`, () => {
    assert.deepEqual(refusals(subresource, [right], now), want);
  });
}
