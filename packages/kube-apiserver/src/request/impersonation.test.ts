// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { finish, inOnePart } from "@purlin/base";
import { isForbidden } from "@purlin/kube-objects/errors";
import { admin, testRequest } from "../../test/test-server.ts";
import { adminAuthorizer } from "../auth/authorizer.ts";
import type { User } from "../auth/user.ts";
import type { ApiRequest } from "./api-request.ts";
import { impersonating } from "./impersonation.ts";

const impersonated = (request: ApiRequest): ApiRequest =>
  finish(impersonating(request, target, inOnePart(adminAuthorizer)));

const target = { kind: "path", verb: "get", path: "/api" } as const;
const jane: User = { name: "jane", groups: ["system:authenticated"] };

const cases: Record<string, { reason: string; headers: Record<string, string>; want: User }> = {
  None: { reason: "no user is named", headers: {}, want: admin },
  User: {
    reason: "every authenticated user is in this group",
    headers: { "impersonate-user": "bob" },
    want: { name: "bob", groups: ["system:authenticated"] },
  },
  Groups: {
    reason: "headers sent twice are joined",
    headers: { "impersonate-user": "bob", "impersonate-group": "devs, ops" },
    want: { name: "bob", groups: ["devs", "ops", "system:authenticated"] },
  },
  Anonymous: {
    reason: "the anonymous user is not authenticated",
    headers: { "impersonate-user": "system:anonymous" },
    want: { name: "system:anonymous", groups: ["system:unauthenticated"] },
  },
  Everything: {
    reason: "uid and extra, whose key is escaped",
    headers: { "impersonate-user": "bob", "impersonate-uid": "7", "impersonate-extra-acme.com%2fteam": "a, b,c" },
    want: { name: "bob", uid: "7", groups: ["system:authenticated"], extra: { "acme.com/team": ["a", "b,c"] } },
  },
  Account: {
    reason: "a ServiceAccount is in the groups of its own",
    headers: { "impersonate-user": "system:serviceaccount:ns:robot" },
    want: {
      name: "system:serviceaccount:ns:robot",
      groups: ["system:serviceaccounts", "system:serviceaccounts:ns", "system:authenticated"],
    },
  },
  AccountGroups: {
    reason: "unless others are named",
    headers: { "impersonate-user": "system:serviceaccount:ns:robot", "impersonate-group": "devs" },
    want: { name: "system:serviceaccount:ns:robot", groups: ["devs", "system:authenticated"] },
  },
};

for (const [name, { reason, headers, want }] of Object.entries(cases)) {
  test(`impersonate: ${name}`, () => {
    assert.deepEqual(impersonated(testRequest("/api", { headers })).user, want, reason);
  });
}

test("only a user with the permission can impersonate, and the error names the missing one", () => {
  const headers = { "impersonate-user": "system:serviceaccount:ns:robot" };
  assert.throws(
    () => impersonated(testRequest("/api", { headers, user: jane })),
    (error) =>
      isForbidden(error) &&
      /User "jane" cannot impersonate resource "serviceaccounts" in API group "" in the namespace "ns"/.test(
        String(error),
      ),
  );
});

test("groups without a user are refused", () => {
  const headers = { "impersonate-group": "system:masters" };
  assert.throws(() => impersonated(testRequest("/api", { headers })), /without impersonating a user/);
});

test("the signal of the request stays lazy", () => {
  let made = 0;
  const request = Object.defineProperty(
    { ...testRequest("/api", { headers: { "impersonate-user": "bob" } }) },
    "signal",
    {
      get: () => {
        made += 1;
        return AbortSignal.abort();
      },
    },
  );
  const result = impersonated(request);
  assert.equal(made, 0);
  assert.equal(result.signal.aborted, true);
});

test("thousands of groups are checked in parts", () => {
  const groups = Array.from({ length: 5000 }, (_, i) => `g${i}`);
  const headers = { "impersonate-user": "bob", "impersonate-group": groups.join(", ") };
  const work = impersonating(testRequest("/api", { headers }), target, inOnePart(adminAuthorizer));
  let parts = 1;
  let part = work.next();
  for (; !part.done; part = work.next()) parts += 1;
  assert.equal(part.value.user.groups.length, 5001);
  assert.ok(parts > 10, `${parts} parts`);
});
