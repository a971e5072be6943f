// SPDX-License-Identifier: Apache-2.0
import { setTimeout as delay } from "node:timers/promises";
import type { Loose } from "../harness/loose.ts";
import type { Session } from "../harness/session.ts";
import type { RoleSet, RoleSetPlace } from "./role-sets.ts";

const rbac = "/apis/rbac.authorization.k8s.io/v1";
const accessReviews = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
const accessReview = (spec: Loose): Loose => ({
  apiVersion: "authorization.k8s.io/v1",
  kind: "SubjectAccessReview",
  spec,
});

/** Creates a role or binding. */
async function createRbac(s: Session, object: Loose): Promise<void> {
  const { namespace } = object.metadata;
  const scope = namespace === undefined ? "" : `/namespaces/${namespace}`;
  const body = { apiVersion: "rbac.authorization.k8s.io/v1", ...object };
  await s.post(`${rbac}${scope}/${object.kind.toLowerCase()}s`, body, {
    part: ({ code, message }: Loose) => code ?? message,
  });
}

/** The reference follows each kind by a watch of its own: waits until it has seen roles and bindings that are created last. */
async function rolesAreSeen(s: Session, prefix: string, namespace: string): Promise<void> {
  const rules = [{ apiGroups: [""], resources: ["seen"], verbs: ["get"] }];
  const subjects = [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: `${prefix}-seen` }];
  for (const [kind, metadata] of [
    ["ClusterRole", { name: `${prefix}-seen` }],
    ["Role", { name: `${prefix}-seen`, namespace }],
  ] as const) {
    await createRbac(s, { kind, metadata, rules });
    const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind, name: metadata.name };
    await createRbac(s, { kind: `${kind}Binding`, metadata, roleRef, subjects });
    const resourceAttributes = { verb: "get", resource: "seen", ...("namespace" in metadata ? { namespace } : {}) };
    const isSeen = async (): Promise<boolean> => {
      const review = accessReview({ user: `${prefix}-seen`, resourceAttributes });
      const { status } = (await s.post(accessReviews, review, { quiet: true })).body;
      return status?.allowed && status.reason.includes(` of ${kind} `);
    };
    while (!(await isSeen())) await delay(20);
    const path = namespace === metadata.namespace ? `/namespaces/${namespace}` : "";
    await s.delete(`${rbac}${path}/${kind.toLowerCase()}bindings/${metadata.name}`, undefined, { quiet: true });
  }
}

/** The reference goes through bindings in no fixed order: with several of them, the reason of an answer is any of them. */
function verdictOf(set: RoleSet): (body: Loose) => Loose {
  return ({ status, message }: Loose) => {
    if (status === undefined) return message;
    const { allowed, reason = "" } = status;
    if (allowed) return set.bindings.length === 1 ? [allowed, reason] : allowed;
    return [allowed, [...reason.matchAll(/\w+\.rbac\S+ "[^"]*" not found/g)].map(([text]) => text).sort()];
  };
}

/** Creates all sets, and asks their questions when the server evaluates them. */
export async function askAboutRoles(s: Session, sets: readonly RoleSet[], place: RoleSetPlace): Promise<void> {
  for (const set of sets) {
    for (const object of [...set.roles, ...set.bindings]) await createRbac(s, object);
  }
  await rolesAreSeen(s, place.prefix, place.namespaces[0]);
  for (const set of sets) {
    const part = verdictOf(set);
    for (const spec of set.questions) {
      await s.post(accessReviews, accessReview(spec), { title: `review ${JSON.stringify(spec)}`, part });
    }
  }
}
