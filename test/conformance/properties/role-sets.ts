// SPDX-License-Identifier: Apache-2.0
// Random roles, bindings and questions about them, from few names, so that rules often match.
import fc from "fast-check";
import type { Loose } from "../harness/loose.ts";

const rbacGroup = "rbac.authorization.k8s.io";

/** Roles and bindings that only the users of the set have, and questions about those users. */
export interface RoleSet {
  readonly roles: readonly Loose[];
  readonly bindings: readonly Loose[];
  readonly questions: readonly Loose[];
}

/** A place for the objects of a set: names begin with the prefix, and what is in a namespace is in one of these. */
export interface RoleSetPlace {
  readonly prefix: string;
  readonly namespaces: readonly [string, string];
}

const some = (...values: string[]): fc.Arbitrary<string[]> =>
  fc.array(fc.constantFrom(...values), { minLength: 1, maxLength: 3 });

const groups = ["", "apps", "example.org", "*"];
const resources = ["pods", "deployments", "pods/log", "deployments/scale", "*/scale", "*/log", "*"];
const verbs = ["get", "list", "create", "delete", "*"];
const names = ["a", "b"];

const resourceRules = fc
  .record({
    apiGroups: some(...groups),
    resources: some(...resources),
    verbs: some(...verbs),
    resourceNames: fc.option(some(...names), { nil: undefined, freq: 3 }),
  })
  .map(({ resourceNames, ...rule }) => (resourceNames === undefined ? rule : { ...rule, resourceNames }));

const pathRules = fc.record({
  nonResourceURLs: some("/x", "/x/*", "/x*", "/y/z", "*"),
  verbs: some("get", "post", "*"),
});

const roleNames = ["r0", "r1", "r2"];
const userNames = ["u0", "u1"];
const groupNames = ["g0", "g1"];
const accountNames = ["s0", "s1"];

function roles(place: RoleSetPlace): fc.Arbitrary<Loose[]> {
  const clusterRole = fc
    .tuple(
      fc.constantFrom(...roleNames),
      fc.array(fc.oneof({ weight: 4, arbitrary: resourceRules }, pathRules), { maxLength: 3 }),
    )
    .map(([name, rules]) => ({ kind: "ClusterRole", metadata: { name: `${place.prefix}-${name}` }, rules }));
  const role = fc
    .tuple(
      fc.constantFrom(...roleNames),
      fc.constantFrom(...place.namespaces),
      fc.array(resourceRules, { maxLength: 3 }),
    )
    .map(([name, namespace, rules]) => ({
      kind: "Role",
      metadata: { name: `${place.prefix}-${name}`, namespace },
      rules,
    }));
  const key = ({ kind, metadata }: Loose): string => `${kind} ${metadata.namespace} ${metadata.name}`;
  return fc.uniqueArray(fc.oneof(clusterRole, role), { minLength: 1, maxLength: 4, selector: key });
}

function subjects(place: RoleSetPlace): fc.Arbitrary<Loose[]> {
  const named = (kind: string, all: readonly string[]): fc.Arbitrary<Loose> =>
    fc.constantFrom(...all).map((name) => ({ apiGroup: rbacGroup, kind, name: `${place.prefix}-${name}` }));
  const account = fc
    .tuple(fc.constantFrom(...accountNames), fc.constantFrom(...place.namespaces))
    .map(([name, namespace]) => ({ kind: "ServiceAccount", name: `${place.prefix}-${name}`, namespace }));
  return fc.array(fc.oneof(named("User", userNames), named("Group", groupNames), account), { maxLength: 3 });
}

function bindings(place: RoleSetPlace): fc.Arbitrary<Loose[]> {
  const binding = fc
    .record({
      namespace: fc.option(fc.constantFrom(...place.namespaces), { nil: undefined }),
      kind: fc.constantFrom("Role", "ClusterRole"),
      role: fc.constantFrom(...roleNames),
      subjects: subjects(place),
    })
    .map(({ namespace, kind, role, subjects: all }) => ({
      kind: namespace === undefined ? "ClusterRoleBinding" : "RoleBinding",
      namespace,
      roleRef: {
        apiGroup: rbacGroup,
        kind: namespace === undefined ? "ClusterRole" : kind,
        name: `${place.prefix}-${role}`,
      },
      subjects: all,
    }));
  return fc.array(binding, { minLength: 1, maxLength: 4 }).map((all) =>
    all.map(({ namespace, ...rest }, n) => ({
      ...rest,
      metadata: { name: `${place.prefix}-b${n}`, ...(namespace === undefined ? {} : { namespace }) },
    })),
  );
}

function questions(place: RoleSetPlace): fc.Arbitrary<Loose[]> {
  const who = fc.oneof(
    fc.record({
      user: fc.constantFrom(...userNames).map((name) => `${place.prefix}-${name}`),
      groups: fc.array(fc.constantFrom(...groupNames.map((name) => `${place.prefix}-${name}`)), { maxLength: 2 }),
    }),
    fc
      .tuple(fc.constantFrom(...accountNames), fc.constantFrom(...place.namespaces))
      .map(([name, namespace]) => ({ user: `system:serviceaccount:${namespace}:${place.prefix}-${name}` })),
  );
  const resource = fc.record({
    verb: fc.constantFrom(...verbs),
    group: fc.constantFrom(...groups),
    resource: fc.constantFrom("pods", "deployments", "secrets", "*"),
    subresource: fc.constantFrom("", "", "log", "scale"),
    name: fc.constantFrom("", "a", "b", "c"),
    namespace: fc.constantFrom("", ...place.namespaces),
  });
  const path = fc.record({
    verb: fc.constantFrom("get", "post", "put"),
    path: fc.constantFrom("/x", "/x/", "/x/y", "/xy", "/y/z", "/y", "*"),
  });
  const what = fc.oneof(
    { weight: 5, arbitrary: resource.map((resourceAttributes) => ({ resourceAttributes })) },
    path.map((nonResourceAttributes) => ({ nonResourceAttributes })),
  );
  return fc.array(
    fc.tuple(who, what).map(([subject, asked]) => ({ ...subject, ...asked })),
    { minLength: 10, maxLength: 10 },
  );
}

/** Random sets for a place. */
export function roleSets(place: RoleSetPlace): fc.Arbitrary<RoleSet> {
  return fc.record({ roles: roles(place), bindings: bindings(place), questions: questions(place) });
}
