// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { AccessAttributes } from "../auth/authorizer.ts";
import { decideAudit, parseAuditPolicy } from "./audit-policy.ts";

const policyOf = (...rules: object[]): ReturnType<typeof parseAuditPolicy> =>
  parseAuditPolicy({ apiVersion: "audit.k8s.io/v1", kind: "Policy", rules } as never);
const jane = { name: "jane", groups: ["devs", "system:authenticated"] };
const resource = (fields: object = {}): AccessAttributes => ({
  kind: "resource",
  verb: "get",
  group: "apps",
  version: "v1",
  resource: "deployments",
  subresource: "",
  namespace: "team",
  name: "web",
  ...fields,
});
const path = (value: string): AccessAttributes => ({ kind: "path", verb: "get", path: value });

const rules: readonly (readonly [title: string, rule: object, access: AccessAttributes, isMatch: boolean])[] = [
  ["no condition", {}, resource(), true],
  ["a user", { users: ["jane"] }, resource(), true],
  ["another user", { users: ["joe"] }, resource(), false],
  ["a group", { userGroups: ["devs"] }, resource(), true],
  ["another group", { userGroups: ["ops"] }, resource(), false],
  ["a verb", { verbs: ["get"] }, resource(), true],
  ["another verb", { verbs: ["list"] }, resource(), false],
  ["a namespace", { namespaces: ["team"] }, resource(), true],
  ["another namespace", { namespaces: ["other"] }, resource(), false],
  ["the empty namespace, of cluster-scoped objects", { namespaces: [""] }, resource({ namespace: "" }), true],
  ["a namespace and a path", { namespaces: ["team"] }, path("/version"), false],
  ["a group of resources", { resources: [{ group: "apps" }] }, resource(), true],
  ["the core group", { resources: [{ group: "" }] }, resource(), false],
  ["a resource", { resources: [{ group: "apps", resources: ["deployments"] }] }, resource(), true],
  [
    "a resource, not its subresource",
    { resources: [{ group: "apps", resources: ["deployments"] }] },
    resource({ subresource: "scale" }),
    false,
  ],
  [
    "a subresource",
    { resources: [{ group: "apps", resources: ["deployments/scale"] }] },
    resource({ subresource: "scale" }),
    true,
  ],
  [
    "any subresource of a resource",
    { resources: [{ group: "apps", resources: ["deployments/*"] }] },
    resource({ subresource: "scale" }),
    true,
  ],
  [
    "a subresource of any resource",
    { resources: [{ group: "apps", resources: ["*/scale"] }] },
    resource({ subresource: "scale" }),
    true,
  ],
  ["every resource", { resources: [{ group: "apps", resources: ["*"] }] }, resource({ subresource: "scale" }), true],
  ["a name", { resources: [{ group: "apps", resources: ["deployments"], resourceNames: ["web"] }] }, resource(), true],
  [
    "another name",
    { resources: [{ group: "apps", resources: ["deployments"], resourceNames: ["db"] }] },
    resource(),
    false,
  ],
  ["a path", { nonResourceURLs: ["/version"] }, path("/version"), true],
  ["a path and a resource", { nonResourceURLs: ["*"] }, resource(), false],
  ["a prefix of paths", { nonResourceURLs: ["/healthz*"] }, path("/healthz/ping"), true],
  ["another path", { nonResourceURLs: ["/healthz*"] }, path("/readyz"), false],
];

for (const [title, rule, access, isMatch] of rules) {
  test(`a rule with ${title} ${isMatch ? "matches" : "does not match"}`, () => {
    const { level } = decideAudit(policyOf({ level: "Request", ...rule }), jane, access);
    assert.equal(level, isMatch ? "Request" : "None");
  });
}

test("the first rule that matches counts, and its stages add to those of the policy", () => {
  const policy = parseAuditPolicy({
    apiVersion: "audit.k8s.io/v1",
    kind: "Policy",
    omitStages: ["RequestReceived"],
    omitManagedFields: true,
    rules: [
      { level: "Metadata", omitStages: ["ResponseStarted"], omitManagedFields: false, verbs: ["get"] },
      { level: "RequestResponse" },
    ],
  });
  const first = decideAudit(policy, jane, resource());
  assert.deepEqual(
    [first.level, [...first.omitStages].toSorted(), first.omitManagedFields],
    ["Metadata", ["RequestReceived", "ResponseStarted"], false],
  );
  const second = decideAudit(policy, jane, resource({ verb: "list" }));
  assert.deepEqual([second.level, second.omitManagedFields], ["RequestResponse", true]);
});

test("bodies with Secrets and tokens are never logged", () => {
  const policy = policyOf({ level: "RequestResponse" });
  const levelOf = (fields: object): string => decideAudit(policy, jane, resource(fields)).level;
  assert.equal(levelOf({ group: "", resource: "secrets" }), "Metadata");
  assert.equal(levelOf({ group: "", resource: "secrets", verb: "list", name: "" }), "Metadata");
  assert.equal(levelOf({ group: "", resource: "serviceaccounts", subresource: "token" }), "Metadata");
  assert.equal(levelOf({ group: "authentication.k8s.io", resource: "tokenreviews" }), "Metadata");
  assert.equal(levelOf({ group: "", resource: "serviceaccounts" }), "RequestResponse");
  assert.equal(levelOf({ group: "example.org", resource: "secrets" }), "RequestResponse");
});

test("a request with invalid credentials matches only rules without users and groups", () => {
  const policy = policyOf({ level: "Request", users: ["jane"] }, { level: "Metadata" });
  assert.equal(decideAudit(policy, undefined, resource()).level, "Metadata");
});

const base = { apiVersion: "audit.k8s.io/v1", kind: "Policy" };
const wrong: readonly (readonly [policy: unknown, says: RegExp])[] = [
  [[], /the policy: expected an object/],
  [{ apiVersion: "v1", kind: "ConfigMap" }, /expected apiVersion audit\.k8s\.io\/v1 and kind Policy/],
  [base, /rules: a policy needs at least one rule/],
  [{ ...base, rules: {} }, /rules: expected a list/],
  [{ ...base, rules: [7] }, /rules\[0\]: expected an object/],
  [{ ...base, rule: [] }, /rule: unknown field; expected apiVersion/],
  [
    { ...base, rules: [{ level: "All" }] },
    /rules\[0\]\.level: expected None, Metadata, Request, RequestResponse, not "All"/,
  ],
  [{ ...base, rules: [{}] }, /rules\[0\]\.level: .* not null/],
  [{ ...base, rules: [{ level: "None", user: ["a"] }] }, /rules\[0\]\.user: unknown field/],
  [{ ...base, rules: [{ level: "None", users: [1] }] }, /rules\[0\]\.users: expected a list of strings/],
  [{ ...base, rules: [{ level: "None" }], omitStages: ["x"] }, /omitStages: expected RequestReceived, .* not "x"/],
  [
    { ...base, rules: [{ level: "None", nonResourceURLs: ["/a"], namespaces: ["b"] }] },
    /cannot apply to both regular resources and non-resource URLs/,
  ],
  [{ ...base, rules: [{ level: "None", nonResourceURLs: ["a"] }] }, /"a" must begin with a slash/],
  [{ ...base, rules: [{ level: "None", nonResourceURLs: ["/a*b"] }] }, /\* may only be the last character/],
  [
    { ...base, rules: [{ level: "None", resources: [{ group: "apps/v1" }] }] },
    /resources\[0\]\.group: expected the name of an API group without a version/,
  ],
  [
    { ...base, rules: [{ level: "None", resources: [{ resourceNames: ["a"] }] }] },
    /using resourceNames requires at least one resource/,
  ],
  [{ ...base, rules: [{ level: "None", omitManagedFields: "yes" }] }, /omitManagedFields: expected true or false/],
];

for (const [policy, says] of wrong) {
  test(`a policy is refused: ${says.source.slice(0, 60)}`, () => {
    assert.throws(() => parseAuditPolicy(policy as never), says);
  });
}
