// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { type AccessAttributes, accessDenied, adminAuthorizer } from "./authorizer.ts";
import { anonymous, serviceAccountUser, type User } from "./user.ts";

const jane: User = { name: "jane", groups: ["devs", "system:authenticated"] };
const secrets: AccessAttributes = {
  kind: "resource",
  verb: "list",
  group: "",
  version: "v1",
  resource: "secrets",
  subresource: "",
  namespace: "ns",
  name: "",
};
const path = (text: string, verb = "get"): AccessAttributes => ({ kind: "path", verb, path: text });

const cases: Record<string, { reason: string; user: User; access: AccessAttributes; want: boolean }> = {
  Master: {
    reason: "masters may do everything",
    user: { name: "x", groups: ["system:masters"] },
    access: secrets,
    want: true,
  },
  ServiceAccount: { reason: "trusted", user: serviceAccountUser("a", "b", "c"), access: secrets, want: true },
  Stranger: { reason: "known but not trusted", user: jane, access: secrets, want: false },
  Anonymous: { reason: "not authenticated", user: anonymous, access: secrets, want: false },
  Health: { reason: "public", user: anonymous, access: path("/readyz"), want: true },
  HealthCheck: {
    reason: "single checks are not for strangers",
    user: anonymous,
    access: path("/livez/ping"),
    want: false,
  },
  Version: { reason: "public", user: anonymous, access: path("/version"), want: true },
  HealthWrite: { reason: "asking is reading", user: anonymous, access: path("/readyz", "post"), want: false },
  Lookalike: { reason: "no prefix of a name", user: anonymous, access: path("/readyzz"), want: false },
  Discovery: { reason: "not for strangers", user: anonymous, access: path("/apis"), want: false },
  OwnDiscovery: { reason: "authenticated users may discover", user: jane, access: path("/apis/apps/v1"), want: true },
  OwnDocuments: { reason: "and what kinds look like", user: jane, access: path("/openapi/v3"), want: true },
  Near: { reason: "only the same prefix", user: jane, access: path("/apisx"), want: false },
  DiscoveryWrite: { reason: "finding is reading", user: jane, access: path("/apis", "post"), want: false },
  Self: {
    reason: "authenticated users may review themselves",
    user: jane,
    access: { ...secrets, verb: "create", group: "authorization.k8s.io", resource: "selfsubjectaccessreviews" },
    want: true,
  },
  SelfAnonymous: {
    reason: "there is no self to ask about",
    user: anonymous,
    access: { ...secrets, verb: "create", group: "authorization.k8s.io", resource: "selfsubjectaccessreviews" },
    want: false,
  },
  OtherReview: {
    reason: "reviews of other users are not granted",
    user: jane,
    access: { ...secrets, verb: "create", group: "authorization.k8s.io", resource: "subjectaccessreviews" },
    want: false,
  },
  SelfRead: {
    reason: "asking is creating",
    user: jane,
    access: { ...secrets, verb: "get", group: "authorization.k8s.io", resource: "selfsubjectaccessreviews" },
    want: false,
  },
  Metrics: { reason: "not for strangers", user: jane, access: path("/metrics"), want: false },
};

for (const [name, { reason, user, access, want }] of Object.entries(cases)) {
  test(`authorize: ${name}`, () => assert.equal(adminAuthorizer(user, access).allowed, want, reason));
}

test("default grants have the same reasons as in the reference", () => {
  const { reason } = adminAuthorizer(jane, path("/openapi/v2"));
  assert.equal(
    reason,
    'RBAC: allowed by ClusterRoleBinding "system:discovery" of ClusterRole "system:discovery" to Group "system:authenticated"',
  );
});

const denials: Record<string, { access: AccessAttributes; reason?: string; want: string }> = {
  List: {
    access: secrets,
    want: 'secrets is forbidden: User "jane" cannot list resource "secrets" in API group "" in the namespace "ns"',
  },
  Named: {
    access: { ...secrets, verb: "get", name: "s", namespace: "", group: "g.io" },
    want: 'secrets.g.io "s" is forbidden: User "jane" cannot get resource "secrets" in API group "g.io" at the cluster scope',
  },
  Subresource: {
    access: { ...secrets, verb: "patch", name: "s", subresource: "status" },
    want: 'secrets "s" is forbidden: User "jane" cannot patch resource "secrets/status" in API group "" in the namespace "ns"',
  },
  Path: { access: path("/metrics"), want: 'forbidden: User "jane" cannot get path "/metrics"' },
  WithReason: {
    access: path("/metrics"),
    reason: "closed today",
    want: 'forbidden: User "jane" cannot get path "/metrics": closed today',
  },
};

for (const [name, { access, reason = "", want }] of Object.entries(denials)) {
  test(`denied in the reference's words: ${name}`, () => {
    const error = accessDenied(jane, access, { allowed: false, reason });
    assert.deepEqual([error.code, error.reason, error.message], [403, "Forbidden", want]);
  });
}
