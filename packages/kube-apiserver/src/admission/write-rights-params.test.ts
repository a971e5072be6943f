// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { finish } from "@purlin/base";
import { findStatusError } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { storeOf } from "../../test/test-server.ts";
import type { AccessAttributes } from "../auth/authorizer.ts";
import type { User } from "../auth/user.ts";
import { Registry, type ResourceType } from "../registry/registry.ts";
import { defineKinds } from "../strategy/kind-rules.ts";
import { paramAccessCheck } from "./write-rights.ts";

const group = "admissionregistration.k8s.io";
const { catalog } = new Registry(
  defineKinds({ group: "", version: "v1", priority: 1 }, [{ resource: "configmaps", kind: "ConfigMap" }]).map(
    ({ type }) => type,
  ),
);
const jane: User = { name: "jane", uid: "7", groups: ["a", "b"], extra: { z: ["1", "2"], m: ["3"] } };
const shown = "&{jane 7 [a b] map[m:[3] z:[1 2]]}";

interface Written {
  readonly resource: string;
  readonly spec: JsonObject;
  readonly old?: JsonObject;
  readonly user?: User;
  readonly group?: string;
}

interface Checked {
  /** What the authorizer was asked. */
  readonly asked: readonly AccessAttributes[];
  readonly message: string | undefined;
}

/** The check of a write when everything (or nothing) is allowed. */
async function checked(
  { resource, spec, old, user = jane, group: own = group }: Written,
  allowed = false,
): Promise<Checked> {
  await using store = await storeOf({
    [`/${group}/validatingadmissionpolicies/p`]: { spec: { paramKind } },
    [`/${group}/mutatingadmissionpolicies/m`]: { spec: { paramKind: { apiVersion: "example.org/v2", kind: "Rule" } } },
  });
  const asked: AccessAttributes[] = [];
  const check = paramAccessCheck({
    store,
    catalog: () => catalog,
    authorizer: (_, access) => {
      asked.push(access);
      return { allowed, reason: "" };
    },
  });
  const type = { group: own, resource, kind: "Kind" } as ResourceType;
  const target = {
    kind: "resource",
    verb: "create",
    group,
    version: "v1",
    resource,
    subresource: "",
    namespace: "",
    name: "",
  } as const;
  try {
    finish(check({ user, type, target, object: { metadata: { name: "x" }, spec }, old: old && { spec: old } }));
    return { asked, message: undefined };
  } catch (error) {
    assert.equal(findStatusError(error)?.code, 422);
    return { asked, message: (error as Error).message };
  }
}

const paramKind = { apiVersion: "v1", kind: "ConfigMap" };
const policy = { resource: "validatingadmissionpolicies", spec: { paramKind } };
const binding = { resource: "validatingadmissionpolicybindings", spec: { policyName: "p", paramRef: { name: "a" } } };
const access = { kind: "resource", group: "", version: "v1", resource: "configmaps", subresource: "" };

test("the author of a policy needs the right to get all parameters of its kind", async () => {
  assert.deepEqual(await checked(policy), {
    asked: [{ ...access, verb: "get", name: "*", namespace: "*" }],
    message: `Kind.${group} "x" is invalid: spec.paramKind: Forbidden: user ${shown} must have "get" permission on all objects of the referenced paramKind (kind=ConfigMap, apiVersion=v1)`,
  });
  assert.equal((await checked(policy, true)).message, undefined);
  assert.equal((await checked({ ...policy, resource: "mutatingadmissionpolicies" })).asked.length, 1);
});

test("a user without uid and extra is printed with empty ones", async () => {
  const { message = "" } = await checked({ ...policy, user: { name: "x", groups: [] } });
  assert.ok(message.includes("user &{x  [] map[]} must have"), message);
});

test("a policy without parameters, or with the same as before, needs no right", async () => {
  assert.deepEqual(await checked({ ...policy, spec: {} }), { asked: [], message: undefined });
  assert.deepEqual(await checked({ ...policy, old: { paramKind } }), { asked: [], message: undefined });
  assert.equal((await checked({ ...policy, old: {} })).asked.length, 1);
});

test("a kind that is not served is asked for as every resource", async () => {
  const ask = async (kind: JsonObject): Promise<AccessAttributes | undefined> =>
    (await checked({ ...policy, spec: { paramKind: kind } })).asked[0];
  const rest = { kind: "resource", subresource: "", verb: "get", name: "*", namespace: "*" };
  assert.deepEqual(await ask({ apiVersion: "example.org/v1", kind: "Rule" }), {
    ...rest,
    group: "example.org",
    version: "v1",
    resource: "*",
  });
  assert.deepEqual(await ask({ apiVersion: "v2", kind: "ConfigMap" }), {
    ...rest,
    group: "",
    version: "v2",
    resource: "*",
  });
  assert.deepEqual(await ask({}), { ...rest, group: "*", version: "*", resource: "*" });
});

test("the author of a binding needs the right to read its parameters: get for a name, list for a selector", async () => {
  assert.deepEqual(await checked(binding), {
    asked: [{ ...access, verb: "get", name: "a", namespace: "*" }],
    message: `Kind.${group} "x" is invalid: spec.paramRef: Forbidden: user ${shown} does not have "get" permission on the object referenced by paramRef`,
  });
  const selecting = { ...binding, spec: { policyName: "p", paramRef: { selector: {}, namespace: "ns" } } };
  const { asked, message = "" } = await checked(selecting);
  assert.deepEqual(asked, [{ ...access, verb: "list", name: "*", namespace: "ns" }]);
  assert.ok(message.endsWith('does not have "list" permission on the object referenced by paramRef'));
  assert.equal((await checked(selecting, true)).message, undefined);
});

test("the kind of the parameters of a binding is that of its policy", async () => {
  const spec = { policyName: "m", paramRef: { name: "a" } };
  const [mutating] = (await checked({ resource: "mutatingadmissionpolicybindings", spec })).asked;
  assert.deepEqual(mutating, {
    ...access,
    group: "example.org",
    version: "v2",
    resource: "*",
    verb: "get",
    name: "a",
    namespace: "*",
  });
  const [unknown] = (await checked({ ...binding, spec })).asked;
  assert.deepEqual(unknown, {
    ...access,
    group: "*",
    version: "*",
    resource: "*",
    verb: "get",
    name: "a",
    namespace: "*",
  });
});

test("a binding that keeps its policy and its reference needs no right", async () => {
  const { spec } = binding;
  assert.deepEqual(await checked({ ...binding, old: spec }), { asked: [], message: undefined });
  assert.deepEqual(await checked({ ...binding, spec: { policyName: "p" } }), { asked: [], message: undefined });
  assert.equal((await checked({ ...binding, old: { ...spec, policyName: "q" } })).asked.length, 1);
  assert.equal((await checked({ ...binding, old: { ...spec, paramRef: { name: "b" } } })).asked.length, 1);
});

test("masters and other kinds are not checked", async () => {
  const none = { asked: [], message: undefined };
  assert.deepEqual(await checked({ ...policy, user: { name: "x", groups: ["system:masters"] } }), none);
  assert.deepEqual(await checked({ ...policy, group: "example.org" }), none);
  assert.deepEqual(await checked({ ...policy, resource: "validatingwebhookconfigurations" }), none);
});
