// SPDX-License-Identifier: Apache-2.0
import { setTimeout as delay } from "node:timers/promises";
import { type Case, scenario } from "../harness/case.ts";
import { configMap, core, widgets } from "../harness/fixtures.ts";
import type { Loose } from "../harness/loose.ts";
import type { Ask, Session } from "../harness/session.ts";

const group = "rbac.authorization.k8s.io";
const rbac = `/apis/${group}/v1`;
const reviews = "/apis/authorization.k8s.io/v1";

const user = (name: string): Loose => ({ apiGroup: group, kind: "User", name });
const member = (name: string): Loose => ({ apiGroup: group, kind: "Group", name });
const as = (name: string): Ask => ({ headers: { "impersonate-user": name } });
const rule = (groups: string, resources: string, verbs: string, names?: string): Loose => ({
  apiGroups: groups.split(",").map((name) => (name === "core" ? "" : name)),
  resources: resources.split(","),
  verbs: verbs.split(","),
  ...(names === undefined ? {} : { resourceNames: names.split(",") }),
});

/** A name of this case's own for an object of the cluster. */
const own = (s: Session, name: string): string => `${s.namespace}-${name}`;

function clusterRole(name: string, rules: Loose[] | undefined, more: Loose = {}): Loose {
  return { apiVersion: `${group}/v1`, kind: "ClusterRole", metadata: { name }, rules, ...more };
}

function binding(kind: "RoleBinding" | "ClusterRoleBinding", name: string, role: string, subjects: Loose[]): Loose {
  const [roleKind = "", roleName = ""] = role.split("/");
  const roleRef = { apiGroup: group, kind: roleKind, name: roleName };
  return { apiVersion: `${group}/v1`, kind, metadata: { name }, roleRef, subjects };
}

/** Makes a ClusterRole with the rules and binds it to the subjects, in the whole cluster. */
async function grant(s: Session, name: string, rules: Loose[], subjects: Loose[]): Promise<void> {
  const full = own(s, name);
  await s.post(`${rbac}/clusterroles`, clusterRole(full, rules), { quiet: true });
  const bound = binding("ClusterRoleBinding", full, `ClusterRole/${full}`, subjects);
  await s.post(`${rbac}/clusterrolebindings`, bound, { quiet: true });
}

const access = (spec: Loose): Loose => ({ apiVersion: "authorization.k8s.io/v1", kind: "SubjectAccessReview", spec });

/** The reference reads roles and bindings by watches: waits until a user is allowed. */
async function untilAllowed(s: Session, name: string, resourceAttributes: Loose): Promise<void> {
  const spec = { user: name, groups: ["system:authenticated"], resourceAttributes };
  for (;;) {
    const { body } = await s.post(`${reviews}/subjectaccessreviews`, access(spec), { quiet: true });
    if (body.status?.allowed) return;
    await delay(25);
  }
}

/** Waits until the reason of a review has a text. */
async function untilReason(s: Session, spec: Loose, text: string): Promise<void> {
  for (;;) {
    const { body } = await s.post(`${reviews}/subjectaccessreviews`, access(spec), { quiet: true });
    if (String(body.status?.reason ?? "").includes(text)) return;
    await delay(25);
  }
}

const verdict = (body: Loose): Loose => body.status ?? body;

async function review(s: Session, spec: Loose): Promise<void> {
  await s.post(`${reviews}/subjectaccessreviews`, access(spec), {
    title: `review ${JSON.stringify(spec)}`,
    part: verdict,
  });
}

const signing = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
/** A request for the group system:masters. */
const mastersRequest =
  "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlHbk1Gc0NBUUF3S0RFWE1CVUdBMVVFQ2d3T2MzbHpkR1Z0T20xaGMzUmxjbk" +
  "14RFRBTEJnTlZCQU1NQkdWMmFXd3dLakFGQmdNclpYQURJUUFsMkI1cVoyYXRsK3ZKSWpXZlh0N1ozV1FpWmszdkRUN0VtWnVJVHB0VmtLQUFN" +
  "QVVHQXl0bGNBTkJBRGt6b0tHL3FNdm5VME1JUGNRTE5ITzBXM0gxTi9qREZ5TnYwSEJsbjNVRXcranpIbkJDNUlDc0czWHM2aTJzZUk1OS8ra2" +
  "1aT1k4ZnZhc3VhNVlWUU09Ci0tLS0tRU5EIENFUlRJRklDQVRFIFJFUVVFU1QtLS0tLQo=";

export const rbacCases: readonly Case[] = [
  scenario("rights to approve and to sign the requests of a signer", async (s) => {
    const [ann, ben] = [own(s, "ann"), own(s, "ben")];
    const subresources = "certificatesigningrequests/approval,certificatesigningrequests/status";
    const updates = rule("certificates.k8s.io", subresources, "update,patch");
    await grant(s, "updates", [updates], [user(ann), user(ben)]);
    await grant(s, "signs", [rule("certificates.k8s.io", "signers", "approve,sign", "example.org/*")], [user(ben)]);
    const signer = { group: "certificates.k8s.io", resource: "signers", verb: "sign", name: "example.org/*" };
    await untilAllowed(s, ben, signer);
    await untilAllowed(s, ann, {
      ...signer,
      resource: "certificatesigningrequests",
      subresource: "status",
      verb: "patch",
      name: "",
    });
    const alice: Ask = { headers: { "impersonate-user": "alice", "impersonate-group": "system:masters" } };
    for (const [name, signerName] of Object.entries({ mine: "example.org/s", other: "example.com/s" })) {
      const spec = { request: mastersRequest, signerName, usages: ["client auth"] };
      await s.post(signing, { metadata: { name: own(s, name) }, spec }, alice);
      const times = { lastUpdateTime: "2026-01-02T03:04:05Z", lastTransitionTime: "2026-01-02T03:04:05Z" };
      const status = { conditions: [{ type: "Approved", status: "True", reason: "r", message: "m", ...times }] };
      const failed = { conditions: [...status.conditions, { type: "Failed", status: "True", ...times }] };
      for (const who of [ann, ben]) await s.patch(`${signing}/${own(s, name)}/approval`, "merge", { status }, as(who));
      for (const who of [ann, ben])
        await s.patch(`${signing}/${own(s, name)}/status`, "merge", { status: failed }, as(who));
    }
    const spec = {
      request: mastersRequest,
      signerName: "kubernetes.io/kube-apiserver-client",
      usages: ["client auth"],
    };
    await s.post(signing, { metadata: { name: own(s, "masters") }, spec }, alice);
  }),
  scenario("RBAC: verbs, subresources and scopes in denials", async (s) => {
    const bob = as("bob");
    await s.get(core(s, "pods"), bob);
    await s.get(`${core(s, "pods")}?watch=true`, bob);
    await s.get("/api/v1/pods", bob);
    await s.get(core(s, "pods", "x"), bob);
    await s.get(core(s, "pods", "x/log"), bob);
    await s.post(core(s, "configmaps"), configMap("a"), bob);
    await s.put(core(s, "configmaps", "a"), configMap("a"), bob);
    await s.patch(core(s, "configmaps", "a"), "merge", {}, bob);
    await s.delete(core(s, "configmaps", "a"), undefined, bob);
    await s.delete(core(s, "configmaps"), undefined, bob);
    await s.get(`/apis/apps/v1/namespaces/${s.namespace}/deployments/d/scale`, bob);
    await s.get(`/api/v1/namespaces/${s.namespace}`, bob);
    await s.get(`/api/v1/namespaces/${s.namespace}/status`, bob);
    await s.get("/apis/nope.example.org/v1/things", bob);
    await s.get("/metrics", bob);
    await s.post("/version", {}, bob);
    await s.get("/api/v1/namespaces/a%3Cb%3E%26/secrets/x%3Cy", as("<b>&"));
    await s.get("/x%3Cy", as("<b>&"));
  }),

  scenario("RBAC: resource names", async (s) => {
    await grant(s, "named", [rule("core", "configmaps", "*", "one")], [user(own(s, "named"))]);
    await untilAllowed(s, own(s, "named"), {
      verb: "get",
      resource: "configmaps",
      name: "one",
      namespace: s.namespace,
    });
    const names = (body: Loose): Loose => body.message ?? body.kind;
    for (const name of ["one", "two"]) {
      await s.post(core(s, "configmaps"), configMap(name), { quiet: true });
      await s.get(core(s, "configmaps", name), { ...as(own(s, "named")), part: names });
    }
    await s.get(core(s, "configmaps"), as(own(s, "named")));
    await s.get(`${core(s, "configmaps")}?fieldSelector=metadata.name%3Done`, { ...as(own(s, "named")), part: names });
    await s.get(`${core(s, "configmaps")}?fieldSelector=metadata.name%3Dtwo`, as(own(s, "named")));
    await s.get(`${core(s, "configmaps")}?fieldSelector=metadata.name!%3Done`, as(own(s, "named")));
    await s.post(core(s, "configmaps"), configMap("three"), as(own(s, "named")));
    await s.delete(core(s, "configmaps"), undefined, as(own(s, "named")));
    await s.delete(core(s, "configmaps", "one"), undefined, { ...as(own(s, "named")), part: names });
  }),

  scenario("RBAC: wildcards, subresources and paths", async (s) => {
    const paths = { nonResourceURLs: ["/foo/*", "/exact", "/open*"], verbs: ["get"] };
    const rules = [rule("*", "*/status", "get"), rule("apps", "deployments", "*"), rule("core", "*", "watch"), paths];
    await grant(s, "wide", rules, [user(own(s, "wide"))]);
    await untilAllowed(s, own(s, "wide"), { verb: "get", resource: "x", subresource: "status", group: "nope.io" });
    const asked: Loose[] = [
      { resource: "x", subresource: "status", verb: "get" },
      { resource: "x", subresource: "status", verb: "update" },
      { resource: "x", subresource: "scale", verb: "get" },
      { resource: "deployments", group: "apps", verb: "delete" },
      { resource: "deployments", group: "apps", subresource: "scale", verb: "get" },
      { resource: "deployments", group: "apps", verb: "*" },
      { resource: "pods", verb: "watch" },
      { resource: "pods", subresource: "log", verb: "watch" },
      { resource: "pods", verb: "*" },
      { resource: "*", verb: "watch" },
      { resource: "*", group: "*", verb: "get", subresource: "status" },
    ];
    for (const resourceAttributes of asked) await review(s, { user: own(s, "wide"), resourceAttributes });
    for (const path of ["/foo/x", "/foo/", "/foo", "/exact", "/exact/", "/openness", "/open", "/ope", "*"]) {
      await review(s, { user: own(s, "wide"), nonResourceAttributes: { path, verb: "get" } });
    }
  }),

  scenario("RBAC: bindings of users, groups and accounts", async (s) => {
    const names = own(s, "reader");
    await s.post(`${rbac}/clusterroles`, clusterRole(names, [rule("core", "secrets", "get")]), { quiet: true });
    const subjects: Loose[] = [
      { kind: "ServiceAccount", name: "robot" },
      { kind: "ServiceAccount", name: "other", namespace: "elsewhere" },
      member(own(s, "team")),
      user(own(s, "local")),
    ];
    const bound = binding("RoleBinding", "reader", `ClusterRole/${names}`, subjects);
    await s.post(`${rbac}/namespaces/${s.namespace}/rolebindings`, bound, { quiet: true });
    await untilAllowed(s, own(s, "local"), { verb: "get", resource: "secrets", namespace: s.namespace });
    const secrets = (namespace: string): Loose => ({ verb: "get", resource: "secrets", namespace });
    const users = [
      `system:serviceaccount:${s.namespace}:robot`,
      "system:serviceaccount:elsewhere:other",
      `system:serviceaccount:${s.namespace}:other`,
      "robot",
      own(s, "local"),
    ];
    for (const name of users) {
      await review(s, { user: name, resourceAttributes: secrets(s.namespace) });
      await review(s, { user: name, resourceAttributes: secrets("") });
      await review(s, { user: name, resourceAttributes: secrets("default") });
    }
    await review(s, { user: "x", groups: [own(s, "team")], resourceAttributes: secrets(s.namespace) });
    await review(s, { groups: ["system:masters"], resourceAttributes: secrets("") });
  }),

  scenario("RBAC: a binding to a role that does not exist", async (s) => {
    const subjects = [user(own(s, "lost"))];
    await s.post(
      `${rbac}/clusterrolebindings`,
      binding("ClusterRoleBinding", own(s, "lost"), "ClusterRole/nope", subjects),
      { part: (body: Loose) => body.roleRef },
    );
    await s.post(
      `${rbac}/namespaces/${s.namespace}/rolebindings`,
      binding("RoleBinding", "lost", "Role/nope2", subjects),
      { part: (body: Loose) => body.roleRef },
    );
    const pods = { verb: "get", resource: "pods", namespace: s.namespace };
    const spec = { user: own(s, "lost"), resourceAttributes: pods };
    await untilReason(s, spec, "nope2");
    await untilReason(s, spec, '"nope"');
    await review(s, spec);
    await review(s, { ...spec, resourceAttributes: { verb: "get", resource: "pods" } });
    await s.get(core(s, "pods"), as(own(s, "lost")));
    await s.get("/nope", as(own(s, "lost")));
    const rules = { apiVersion: "authorization.k8s.io/v1", kind: "SelfSubjectRulesReview" };
    await s.post(
      `${reviews}/selfsubjectrulesreviews`,
      { ...rules, spec: { namespace: s.namespace } },
      { ...as(own(s, "lost")), part: ({ status }: Loose) => [status.evaluationError, status.incomplete] },
    );
  }),

  scenario("RBAC: all rules of a user", async (s) => {
    const name = own(s, "listed");
    const pods = rule("core", "pods", "get,list");
    await grant(
      s,
      "listed",
      [pods, pods, rule("core,apps", "a,b/c", "*", "x"), { nonResourceURLs: ["/x"], verbs: ["get"] }],
      [user(name)],
    );
    const local = binding("RoleBinding", "listed", `ClusterRole/${own(s, "listed")}`, [user(name)]);
    await s.post(`${rbac}/namespaces/${s.namespace}/rolebindings`, local, { quiet: true });
    await untilReason(s, { user: name, resourceAttributes: { verb: "get", resource: "pods" } }, "ClusterRoleBinding");
    await delay(1000);
    const rules = { apiVersion: "authorization.k8s.io/v1", kind: "SelfSubjectRulesReview" };
    // The reference lists bindings in an order that differs from answer to answer.
    const sorted = ({ status, message }: Loose): Loose =>
      message ?? {
        ...status,
        resourceRules: status.resourceRules.map((one: Loose) => JSON.stringify(one)).sort(),
        nonResourceRules: status.nonResourceRules.map((one: Loose) => JSON.stringify(one)).sort(),
      };
    for (const spec of [{ namespace: s.namespace }, { namespace: "default" }, {}]) {
      const ask = { ...as(name), part: sorted, title: `rules in ${JSON.stringify(spec)}` };
      await s.post(`${reviews}/selfsubjectrulesreviews`, { ...rules, spec }, ask);
    }
  }),

  scenario("RBAC: selectors in access reviews", async (s) => {
    const one = (key: string, operator: string, values?: string[]): Loose => ({ key, operator, values });
    const asked: readonly Loose[] = [
      { fieldSelector: {} },
      { fieldSelector: { rawSelector: "a=b", requirements: [one("", "In")] } },
      { fieldSelector: { rawSelector: "a" }, labelSelector: { rawSelector: "a in (b" } },
      { fieldSelector: { rawSelector: "a=b" }, labelSelector: { rawSelector: "a in (b)" } },
      { fieldSelector: { requirements: [one("a", "In", ["b"]), one("a", "In", ["b", "c"])] } },
      { fieldSelector: { requirements: [one("a", "Exists", ["b"])] } },
      { labelSelector: { requirements: [one("a", "In", ["b"]), one("a", "New", ["c"])] } },
      { labelSelector: { requirements: [one("-a", "In", ["b d"]), one("a", "NotIn", [])] } },
    ];
    for (const selectors of asked) {
      const spec = { user: "jane", resourceAttributes: { verb: "list", resource: "pods", ...selectors } };
      const review = { apiVersion: "authorization.k8s.io/v1", kind: "SubjectAccessReview", spec };
      await s.post(`${reviews}/subjectaccessreviews`, review);
    }
  }),

  scenario("RBAC: roles beyond the own rights", async (s) => {
    const name = own(s, "author");
    const rules = [rule(group, "roles,clusterroles", "create,update,patch,get"), rule("core", "pods", "get")];
    await grant(s, "author", rules, [user(name)]);
    await untilAllowed(s, name, { verb: "create", group, resource: "roles", namespace: s.namespace });
    await untilAllowed(s, name, { verb: "get", resource: "pods" });
    const short = (body: Loose): Loose => (body.kind === "Status" ? body : body.rules);
    const make = (label: string, made: Loose[], more: Loose = {}): Promise<unknown> =>
      s.post(`${rbac}/clusterroles`, clusterRole(own(s, label), made, more), {
        ...as(name),
        part: short,
        title: label,
      });
    await make("held", [rule("core", "pods", "get")]);
    await make("beyond", [
      rule("core,apps", "pods,deployments/scale", "get,delete", "a,b"),
      { nonResourceURLs: ["/x", "/y*"], verbs: ["get", "post"] },
    ]);
    await make("repeated", [rule("core", "pods", "delete,delete"), rule("core", "pods", "delete,*")]);
    await make("invalid/and-beyond", [rule("core", "pods", "delete")]);
    await make("aggregated", [], { aggregationRule: { clusterRoleSelectors: [{ matchLabels: { a: "b" } }] } });
    const generated = { ...clusterRole("", [rule("core", "pods", "delete")]), metadata: { generateName: "made-" } };
    await s.post(`${rbac}/clusterroles`, generated, { ...as(name), title: "generated" });
    const secrets = clusterRole(own(s, "put"), [rule("core", "secrets", "get")]);
    await s.put(`${rbac}/clusterroles/${own(s, "put")}`, secrets, { ...as(name), title: "PUT" });
    await s.patch(`${rbac}/clusterroles/${own(s, "put")}?fieldManager=a`, "apply", secrets, as(name));
    await s.post(`${rbac}/clusterroles`, secrets, { quiet: true });
    const target = `${rbac}/clusterroles/${own(s, "put")}`;
    await s.patch(target, "merge", { metadata: { labels: { a: "b" } } }, { ...as(name), title: "label" });
    await s.patch(
      target,
      "merge",
      { metadata: { finalizers: ["a.b/c"] } },
      { ...as(name), title: "finalizer", part: short },
    );
    await s.patch(target, "merge", { metadata: { finalizers: null } }, { quiet: true });
    await s.patch(
      target,
      "merge",
      { rules: [rule("core", "pods", "get")] },
      { ...as(name), title: "less", part: short },
    );
    const role = { ...clusterRole("local", [rule("core", "pods", "get,list")]), kind: "Role" };
    await s.post(`${rbac}/namespaces/${s.namespace}/roles`, role, { ...as(name), title: "role" });
  }),

  scenario("RBAC: the right to escalate", async (s) => {
    const name = own(s, "escalator");
    await grant(s, "escalator", [rule(group, "roles,clusterroles", "create,escalate")], [user(name)]);
    await untilAllowed(s, name, { verb: "escalate", group, resource: "clusterroles" });
    const short = (body: Loose): Loose => (body.kind === "Status" ? body : body.rules);
    await s.post(`${rbac}/clusterroles`, clusterRole(own(s, "any"), [rule("*", "*", "*")]), {
      ...as(name),
      part: short,
    });
    const selectors = { aggregationRule: { clusterRoleSelectors: [{ matchLabels: { [own(s, "l")]: "b" } }] } };
    const made = clusterRole(own(s, "aggregated"), undefined, selectors);
    await s.post(`${rbac}/clusterroles`, made, { ...as(name), part: (body: Loose) => body.aggregationRule ?? body });
  }),

  scenario("RBAC: the right to bind", async (s) => {
    const name = own(s, "binder");
    const writes = rule(group, "rolebindings,clusterrolebindings", "create,update,patch,get");
    await grant(
      s,
      "binder",
      [writes, rule("core", "pods", "get"), rule(group, "clusterroles", "bind", "view")],
      [user(name)],
    );
    await untilAllowed(s, name, { verb: "bind", group, resource: "clusterroles", name: "view" });
    await s.post(`${rbac}/clusterroles`, clusterRole(own(s, "held"), [rule("core", "pods", "get")]), { quiet: true });
    await s.post(`${rbac}/clusterroles`, clusterRole(own(s, "more"), [rule("core", "pods", "get,watch,list")]), {
      quiet: true,
    });
    const short = (body: Loose): Loose => (body.kind === "Status" ? body : body.roleRef);
    for (const role of [own(s, "held"), own(s, "more"), "view", "does-not-exist"]) {
      const made = binding("ClusterRoleBinding", own(s, `to-${role}`), `ClusterRole/${role}`, [user("z")]);
      await s.post(`${rbac}/clusterrolebindings`, made, { ...as(name), part: short, title: `cluster: ${role}` });
      const local = binding("RoleBinding", `to-${role}`, `ClusterRole/${role}`, [user("z")]);
      const path = `${rbac}/namespaces/${s.namespace}/rolebindings`;
      await s.post(path, local, { ...as(name), part: short, title: `namespace: ${role}` });
    }
    const missing = binding("RoleBinding", "to-missing", "Role/nope", [user("z")]);
    await s.post(`${rbac}/namespaces/${s.namespace}/rolebindings`, missing, { ...as(name), title: "no Role" });
    const held = `${rbac}/clusterrolebindings/${own(s, `to-${own(s, "held")}`)}`;
    const roleRef = { apiGroup: group, kind: "ClusterRole", name: "view" };
    await s.patch(held, "merge", { roleRef }, { title: "another role" });
  }),

  scenario("RBAC: rights that are reported with roles that do not exist", async (s) => {
    const name = own(s, "half");
    await grant(s, "half", [rule(group, "roles,clusterroles", "create")], [user(name)]);
    const lost = binding("ClusterRoleBinding", own(s, "half-lost"), "ClusterRole/nope", [user(name)]);
    await s.post(`${rbac}/clusterrolebindings`, lost, { quiet: true });
    const spec = { user: name, resourceAttributes: { verb: "get", resource: "pods" } };
    await untilReason(s, spec, "nope");
    await untilAllowed(s, name, { verb: "create", group, resource: "roles", namespace: s.namespace });
    const pods = [rule("core", "pods", "delete")];
    await s.post(`${rbac}/clusterroles`, clusterRole(own(s, "x"), pods), as(name));
    const role = { ...clusterRole("x", pods), kind: "Role" };
    await s.post(`${rbac}/namespaces/${s.namespace}/roles`, role, as(name));
  }),

  scenario("RBAC: roles and bindings that are not valid", async (s) => {
    const post = (made: Loose): Promise<unknown> =>
      s.post(`${rbac}/clusterroles`, made, { title: JSON.stringify(made) });
    await post(clusterRole("x", [{ apiGroups: [""], resources: ["pods"] }]));
    await post(clusterRole("x", [{ verbs: ["get"] }]));
    await post(clusterRole("x", [{ verbs: ["get"], nonResourceURLs: ["/x"], resources: ["pods"], apiGroups: [""] }]));
    const role = { ...clusterRole("x", [{ verbs: ["get"], nonResourceURLs: ["/x"] }]), kind: "Role" };
    await s.post(`${rbac}/namespaces/${s.namespace}/roles`, role);
    const robot = { kind: "ServiceAccount", name: "robot" };
    await s.post(`${rbac}/clusterrolebindings`, binding("ClusterRoleBinding", "x", "ClusterRole/view", [robot]));
  }),

  scenario("RBAC: aggregated roles", async (s) => {
    const label = { [own(s, "part")]: "true" };
    const whole = clusterRole(own(s, "whole"), [rule("core", "secrets", "get")], {
      aggregationRule: { clusterRoleSelectors: [{ matchLabels: label }] },
    });
    await s.post(`${rbac}/clusterroles`, whole, { quiet: true });
    const target = `${rbac}/clusterroles/${own(s, "whole")}`;
    const count = (size: number) => (answer: Loose) => (answer.body.rules ?? []).length === size;
    for (const [n, name] of ["b", "a"].entries()) {
      const part = clusterRole(own(s, name), [rule("core", `pods-${name}`, "get"), rule("core", "shared", "get")]);
      await s.post(`${rbac}/clusterroles`, { ...part, metadata: { ...part.metadata, labels: label } }, { quiet: true });
      await s.until(target, count(n + 2));
    }
    const parts = ({ rules }: Loose): Loose => rules;
    await s.get(target, { part: parts });
    await s.patch(target, "merge", { rules: [rule("core", "secrets", "get")] }, { quiet: true });
    await s.until(target, count(3));
    await s.get(target, { part: parts, title: "after an edit by hand" });
    await s.delete(`${rbac}/clusterroles/${own(s, "a")}`, undefined, { quiet: true });
    await s.until(target, count(2));
    await s.get(target, { part: parts, title: "after a part is deleted" });
    await s.delete(`${rbac}/clusterroles/${own(s, "b")}`, undefined, { quiet: true });
    await delay(2000);
    await s.get(target, { part: parts, title: "without parts" });
  }),

  scenario("RBAC: writes that create", async (s) => {
    const name = own(s, "patcher");
    await grant(
      s,
      "patcher",
      [rule("core,example.org,rbac.authorization.k8s.io", "*", "patch,update,get")],
      [user(name)],
    );
    await untilAllowed(s, name, { verb: "patch", resource: "configmaps", namespace: s.namespace });
    await untilAllowed(s, name, { verb: "patch", group: "example.org", resource: "widgets", namespace: s.namespace });
    const path = `${core(s, "configmaps", "new")}?fieldManager=a`;
    await s.patch(path, "apply", configMap("new"), as(name));
    await s.patch(path, "apply", configMap("new", { "a b": "c" }), { ...as(name), title: "invalid" });
    const elsewhere = "/api/v1/namespaces/nowhere/configmaps/new?fieldManager=a";
    await s.patch(elsewhere, "apply", configMap("new"), as(name));
    const made = { apiVersion: "example.org/v1", kind: "Widget", metadata: { name: "new" }, spec: { size: 1 } };
    await s.patch(`${widgets(s, "new")}?fieldManager=a`, "apply", made, as(name));
    await s.put(core(s, "configmaps", "new"), configMap("new"), { ...as(name), title: "PUT of nothing" });
    const role = { ...clusterRole("new", []), kind: "Role" };
    await s.put(`${rbac}/namespaces/${s.namespace}/roles/new`, role, { ...as(name), title: "PUT of a new role" });
  }),

  scenario("RBAC: impersonation", async (s) => {
    const account = { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "actor" } };
    await s.post(core(s, "serviceaccounts"), account, { quiet: true });
    const subject = { kind: "ServiceAccount", name: "actor", namespace: s.namespace };
    const rules = [
      rule("core", "users", "impersonate", "carol"),
      rule("core", "groups", "impersonate", "devs"),
      rule("authentication.k8s.io", "uids", "impersonate", "7"),
      rule("authentication.k8s.io", "userextras/team", "impersonate", "a"),
    ];
    await grant(s, "actor", rules, [subject]);
    const name = `system:serviceaccount:${s.namespace}:actor`;
    await untilAllowed(s, name, { verb: "impersonate", resource: "users", name: "carol" });
    const asked = await s.post(core(s, "serviceaccounts", "actor/token"), {}, { quiet: true });
    const actor = { certPem: undefined, keyPem: undefined, token: String(asked.body.status.token) };
    const self = { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" };
    const who = (body: Loose): Loose => body.status?.userInfo ?? body;
    const act = (headers: Record<string, string>): Promise<unknown> =>
      s.post("/apis/authentication.k8s.io/v1/selfsubjectreviews", self, {
        ...{ headers, as: actor, part: who, title: JSON.stringify(headers) },
      });
    const [carol, devs, seven] = [
      { "impersonate-user": "carol" },
      { "impersonate-group": "devs" },
      { "impersonate-uid": "7" },
    ];
    await act(carol);
    await act({ "impersonate-user": "dave" });
    await act({ ...carol, ...devs, ...seven, "impersonate-extra-team": "a" });
    await act({ ...carol, "impersonate-group": "ops" });
    await act({ ...carol, "impersonate-uid": "8" });
    await act({ ...carol, "impersonate-extra-team": "b" });
    await act({ ...carol, "impersonate-extra-Acme.com%2fOther": "a" });
    await act({ ...carol, "impersonate-group": "ops", "impersonate-uid": "8" });
    await act({ ...carol, "impersonate-group": "ops", "impersonate-extra-team": "b" });
    await act({ ...carol, "impersonate-group": "system:authenticated" });
    await act({ "impersonate-user": "dave", ...devs });
    await act({ "impersonate-user": "system:serviceaccount:ns:x" });
    await act({ "impersonate-user": "system:serviceaccount:a:b:c" });
    await act({ "impersonate-user": "system:serviceaccount:A:b" });
    await act({ "impersonate-user": "system:anonymous" });
    await act(devs);
    await act(seven);
    await act({ "impersonate-extra-Team": "x" });
  }),

  scenario("RBAC: constrained impersonation", async (s) => {
    const account = { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "agent" } };
    await s.post(core(s, "serviceaccounts"), account, { quiet: true });
    const subject = { kind: "ServiceAccount", name: "agent", namespace: s.namespace };
    const authentication = "authentication.k8s.io";
    const rules = [
      rule(authentication, "users", "impersonate:user-info", "carol"),
      rule(authentication, "groups", "impersonate:user-info", "devs"),
      rule(authentication, "uids", "impersonate:user-info", "7"),
      rule(authentication, "userextras/acme.io/team", "impersonate:user-info", "a"),
      rule(authentication, "serviceaccounts", "impersonate:serviceaccount", "robot"),
      rule(authentication, "nodes", "impersonate:arbitrary-node", "one"),
      rule(authentication, "selfsubjectreviews", "impersonate-on:user-info:create"),
      rule(authentication, "selfsubjectreviews", "impersonate-on:serviceaccount:create"),
      rule(authentication, "selfsubjectreviews", "impersonate-on:arbitrary-node:create"),
    ];
    await grant(s, "agent", rules, [subject]);
    const name = `system:serviceaccount:${s.namespace}:agent`;
    const last = {
      verb: "impersonate-on:arbitrary-node:create",
      group: authentication,
      resource: "selfsubjectreviews",
    };
    await untilAllowed(s, name, last);
    const asked = await s.post(core(s, "serviceaccounts", "agent/token"), {}, { quiet: true });
    const actor = { certPem: undefined, keyPem: undefined, token: String(asked.body.status.token) };
    const self = { apiVersion: `${authentication}/v1`, kind: "SelfSubjectReview" };
    // A denied request is answered with the right that the mode of the last allowed one lacks.
    const who = (body: Loose): Loose => body.status?.userInfo ?? { reason: body.reason, code: body.code };
    const act = (headers: Record<string, string>): Promise<unknown> =>
      s.post(`/apis/${authentication}/v1/selfsubjectreviews`, self, {
        ...{ headers, as: actor, part: who, title: JSON.stringify(headers) },
      });
    const carol = { "impersonate-user": "carol" };
    await act(carol);
    await act({ "impersonate-user": "dave" });
    const more = { ...carol, "impersonate-group": "devs", "impersonate-uid": "7" };
    await act(more);
    await act({ ...more, "impersonate-extra-acme.io%2fteam": "a" });
    await act({ ...more, "impersonate-extra-team": "a" });
    await act({ ...carol, "impersonate-group": "ops" });
    await act({ "impersonate-user": "system:serviceaccount:ns:robot" });
    await act({ "impersonate-user": "system:serviceaccount:ns:other" });
    await act({ "impersonate-user": "system:serviceaccount:ns:robot", "impersonate-group": "devs" });
    await act({ "impersonate-user": "system:node:one" });
    await act({ "impersonate-user": "system:node:two" });
    await act({ "impersonate-user": "system:node:one", "impersonate-group": "devs" });
    await s.get(core(s, "configmaps"), {
      ...{ headers: carol, as: actor, part: who, title: "an action that is not granted" },
    });
  }),

  scenario("RBAC: the roles of a new cluster", async (s) => {
    const simple = (item: Loose): Loose => ({
      name: `${item.metadata.namespace ?? ""}/${item.metadata.name}`,
      labels: item.metadata.labels,
      annotations: item.metadata.annotations,
      rules: item.rules,
      subjects: item.subjects,
      roleRef: item.roleRef,
      aggregationRule: item.aggregationRule,
    });
    const settled = ({ body }: Loose): boolean => (body.rules ?? []).length === 29;
    await s.until(`${rbac}/clusterroles/admin`, settled);
    const selector = "labelSelector=kubernetes.io%2Fbootstrapping%3Drbac-defaults";
    for (const resource of ["clusterroles", "clusterrolebindings", "roles", "rolebindings"]) {
      await s.get(`${rbac}/${resource}?${selector}`, { part: (body: Loose) => body.items.map(simple) });
    }
  }),
];
