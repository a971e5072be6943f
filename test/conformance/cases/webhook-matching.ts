// SPDX-License-Identifier: Apache-2.0
// Which admission webhooks and policies are called, and in which order their answers count.
import { setTimeout as delay } from "node:timers/promises";
import { type Case, scenario } from "../harness/case.ts";
import { configMap, core, deployment, inGroup } from "../harness/fixtures.ts";
import type { Loose } from "../harness/loose.ts";
import type { Session } from "../harness/session.ts";
import {
  allow,
  crossplaneCertificates,
  everyWrite,
  patching,
  respond,
  startWebhook,
  type WebhookAnswer,
  type WebhookServer,
  withWebhooks,
} from "../harness/webhook-server.ts";

const admission = "/apis/admissionregistration.k8s.io/v1";

const labelled = (name: string, labels: Loose): Loose => ({ ...configMap(name), metadata: { name, labels } });

function webhook(hook: WebhookServer, name: string, more: Loose = {}): Loose {
  return {
    ...everyWrite,
    name: `${name}.test.example.org`,
    clientConfig: { url: `${hook.url}/${name}`, caBundle: hook.caBundle },
    ...more,
  };
}

const rules = (...resources: string[]): Loose => ({
  rules: [{ apiGroups: ["*"], apiVersions: ["*"], operations: ["*"], resources }],
});

/** The webhooks that a request calls, by name. */
async function calledBy(s: Session, hook: WebhookServer, title: string, act: () => Promise<unknown>): Promise<void> {
  hook.called.length = 0;
  await act();
  s.note(`called by ${title}`, hook.called.map((path) => path.split("?")[0]).toSorted());
}

/** Objects that configure admission, one of each kind, and others for comparison. All have the label `case`. */
function configurations(s: Session): readonly [string, Loose][] {
  const metadata = { name: `${s.namespace}-other`, labels: { case: s.namespace } };
  const matchConstraints = { resourceRules: [{ ...rules("pods").rules[0], operations: ["CREATE"] }] };
  const applyConfiguration = { expression: "Object{}" };
  const mutations = [{ patchType: "ApplyConfiguration", applyConfiguration }];
  return [
    [`${admission}/validatingwebhookconfigurations`, { metadata, webhooks: [] }],
    [`${admission}/mutatingwebhookconfigurations`, { metadata, webhooks: [] }],
    [
      `${admission}/validatingadmissionpolicies`,
      { metadata, spec: { matchConstraints, validations: [{ expression: "true" }] } },
    ],
    [
      `${admission}/validatingadmissionpolicybindings`,
      { metadata, spec: { policyName: "nope", validationActions: ["Deny"] } },
    ],
    [
      `${admission}/mutatingadmissionpolicies`,
      { metadata, spec: { matchConstraints, mutations, reinvocationPolicy: "Never" } },
    ],
    [`${admission}/mutatingadmissionpolicybindings`, { metadata, spec: { policyName: "nope" } }],
    ["/apis/rbac.authorization.k8s.io/v1/clusterroles", { metadata, rules: [] }],
    ["/api/v1/namespaces", { metadata }],
  ];
}

/** A validating policy with its binding, for objects with the label `case` of this session. */
async function withPolicy(s: Session, name: string, resourceRule: Loose, validation: Loose): Promise<void> {
  const own = `${s.namespace}-${name}`;
  const rule = { apiVersions: ["*"], operations: ["CREATE"], ...resourceRule };
  const matchConstraints = { resourceRules: [rule], objectSelector: { matchLabels: { case: s.namespace } } };
  const metadata = { name: own };
  const spec = { matchConstraints, validations: [validation] };
  await s.post(`${admission}/validatingadmissionpolicies`, { metadata, spec }, { quiet: true });
  const bound = { metadata, spec: { policyName: own, validationActions: ["Deny"] } };
  await s.post(`${admission}/validatingadmissionpolicybindings`, bound, { quiet: true });
}

async function withoutPolicies(s: Session, names: readonly string[]): Promise<void> {
  for (const kind of ["validatingadmissionpolicybindings", "validatingadmissionpolicies"]) {
    for (const name of names) await s.delete(`${admission}/${kind}/${s.namespace}-${name}`, undefined, { quiet: true });
  }
}

/** A mutating policy with its binding, for objects with the label `case` of this session. */
async function withMutation(s: Session, name: string, expression: string): Promise<void> {
  const metadata = { name: `${s.namespace}-${name}` };
  const rule = { ...rules("*").rules[0], operations: ["CREATE"] };
  const matchConstraints = { resourceRules: [rule], objectSelector: { matchLabels: { case: s.namespace } } };
  const mutations = [{ patchType: "ApplyConfiguration", applyConfiguration: { expression } }];
  const spec = { matchConstraints, mutations, reinvocationPolicy: "Never" };
  await s.post(`${admission}/mutatingadmissionpolicies`, { metadata, spec }, { quiet: true });
  const bound = { metadata, spec: { policyName: metadata.name } };
  await s.post(`${admission}/mutatingadmissionpolicybindings`, bound, { quiet: true });
}

export const webhookMatchingCases: readonly Case[] = [
  scenario("webhooks with certificates as Crossplane issues them", async (s) => {
    const deny: WebhookAnswer = (review) => respond(review, { allowed: false, status: { message: "reached" } });
    const hook = await startWebhook(s, deny, crossplaneCertificates());
    const of = (name: string, clientConfig: Loose): Loose =>
      webhook(hook, name, { clientConfig, objectSelector: { matchLabels: { case: name } } });
    const unrelated = Buffer.from(crossplaneCertificates().authority.certPem).toString("base64");
    const webhooks = [
      of("right", { url: `${hook.url}/right`, caBundle: hook.caBundle }),
      of("other-authority", { url: `${hook.url}/other`, caBundle: unrelated }),
    ];
    const end = await withWebhooks(s, { kind: "ValidatingWebhookConfiguration", hook, webhooks });
    await s.post(core(s, "configmaps"), labelled("right", { case: "right" }));
    // The message of the reference names the authority that it tried.
    await s.post(core(s, "configmaps"), labelled("other-authority", { case: "other-authority" }), {
      part: ({ code, reason }) => ({ code, reason }),
    });
    await end();
    await hook.stop();
  }),
  scenario("webhooks with their leaf certificate as bundle, and without one", async (s) => {
    const hook = await startWebhook(s, (review) => respond(review, { allowed: false, status: { message: "reached" } }));
    const of = (name: string, caBundle: string | undefined): Loose =>
      webhook(hook, name, {
        clientConfig: { url: `${hook.url}/${name}`, ...(caBundle !== undefined && { caBundle }) },
        objectSelector: { matchLabels: { case: name } },
      });
    const webhooks = [of("leaf", hook.leafBundle), of("none", undefined)];
    const end = await withWebhooks(s, { kind: "ValidatingWebhookConfiguration", hook, webhooks });
    for (const name of ["leaf", "none"]) await s.post(core(s, "configmaps"), labelled(name, { case: name }));
    await end();
    await hook.stop();
  }),
  scenario("webhooks for all resources, and for all subresources", async (s) => {
    const hook = await startWebhook(s, (review) => allow(review));
    const webhooks = [
      webhook(hook, "resources", rules("*")),
      webhook(hook, "everything", rules("*/*")),
      webhook(hook, "of-one", rules("deployments/*")),
      webhook(hook, "one", rules("*/scale")),
    ];
    const end = await withWebhooks(s, { kind: "ValidatingWebhookConfiguration", hook, webhooks });
    const path = inGroup(s, "apps/v1/deployments");
    await calledBy(s, hook, "create", () => s.post(path, deployment("d"), { quiet: true }));
    await calledBy(s, hook, "status", () =>
      s.patch(`${path}/d/status`, "merge", { status: { replicas: 1 } }, { quiet: true }),
    );
    await calledBy(s, hook, "scale", () =>
      s.patch(`${path}/d/scale`, "merge", { spec: { replicas: 2 } }, { quiet: true }),
    );
    await end();
    await hook.stop();
  }),
  scenario("mutating webhooks selected by a label that another one adds", async (s) => {
    const hook = await startWebhook(s, (review, path) =>
      path.startsWith("/labels")
        ? patching(review, [{ op: "add", path: "/metadata/labels/added", value: "yes" }])
        : patching(review, [{ op: "add", path: `/data${path.split("?")[0]}`, value: "called" }]),
    );
    const selected = { objectSelector: { matchLabels: { added: "yes" } }, reinvocationPolicy: "IfNeeded" };
    const webhooks = [
      webhook(hook, "before", selected),
      webhook(hook, "labels", { objectSelector: { matchLabels: { case: "x" } } }),
      webhook(hook, "after", selected),
    ];
    const end = await withWebhooks(s, { kind: "MutatingWebhookConfiguration", hook, webhooks });
    await s.post(core(s, "configmaps"), labelled("a", { case: "x" }));
    s.note("called", hook.called);
    await end();
    await hook.stop();
  }),
  scenario("webhooks do not see configurations of webhooks and policies", async (s) => {
    const hook = await startWebhook(s, (review) => respond(review, { allowed: false }));
    const own = { objectSelector: { matchLabels: { case: s.namespace } }, namespaceSelector: {} };
    const webhooks = [webhook(hook, "all", { ...own, ...rules("*/*") })];
    const ends = [
      await withWebhooks(s, { kind: "MutatingWebhookConfiguration", hook, webhooks }),
      await withWebhooks(s, { kind: "ValidatingWebhookConfiguration", hook, webhooks }),
    ];
    for (const [path, body] of configurations(s)) {
      await calledBy(s, hook, path, () =>
        s.post(`${path}?dryRun=All`, body, { part: ({ code, message }) => ({ code, message }) }),
      );
    }
    for (const end of ends) await end();
    await hook.stop();
  }),
  scenario("the denial that arrives first is the answer", async (s) => {
    const quickWasAsked = Promise.withResolvers<void>();
    const hook = await startWebhook(s, async (review, path) => {
      if (path.startsWith("/quick")) quickWasAsked.resolve();
      else await quickWasAsked.promise.then(() => delay(1500));
      return respond(review, { allowed: false, status: { message: path.split("?")[0] } });
    });
    const webhooks = [webhook(hook, "slow"), webhook(hook, "quick")].map((one) => ({
      ...one,
      objectSelector: { matchLabels: { case: "race" } },
    }));
    const end = await withWebhooks(s, { kind: "ValidatingWebhookConfiguration", hook, webhooks });
    await s.post(core(s, "configmaps"), labelled("a", { case: "race" }));
    s.note("called", hook.called.toSorted());
    await end();
    await hook.stop();
  }),
  scenario("webhooks for everything also refuse Events and Leases", async (s) => {
    const hook = await startWebhook(s, (review) => respond(review, { allowed: false, status: { message: "no" } }));
    const webhooks = [webhook(hook, "all", { ...rules("*/*"), objectSelector: { matchLabels: { case: "x" } } })];
    const end = await withWebhooks(s, { kind: "ValidatingWebhookConfiguration", hook, webhooks });
    const metadata = { name: "a", namespace: s.namespace, labels: { case: "x" } };
    const involvedObject = { kind: "ConfigMap", name: "a", namespace: s.namespace };
    await s.post(core(s, "events"), { apiVersion: "v1", kind: "Event", metadata, involvedObject, reason: "R" });
    await s.post(inGroup(s, "coordination.k8s.io/v1/leases"), { metadata });
    await s.post(core(s, "serviceaccounts"), { metadata });
    await end();
    await hook.stop();
  }),
  scenario("an object that its webhook changes while it is deleted", async (s) => {
    const hook = await startWebhook(s, async (review) => {
      const { operation, name } = review.request;
      const marked = { metadata: { annotations: { "example.org/attempt": "yes" } } };
      if (operation === "DELETE") await s.patch(core(s, "configmaps", name), "merge", marked, { quiet: true });
      return allow(review);
    });
    const selector = { objectSelector: { matchLabels: { case: "held" } } };
    const webhooks = [webhook(hook, "marks", selector)];
    const end = await withWebhooks(s, { kind: "ValidatingWebhookConfiguration", hook, webhooks });
    await s.post(core(s, "configmaps"), labelled("a", { case: "held" }), { quiet: true });
    await s.delete(`${core(s, "configmaps", "a")}?dryRun=All`, undefined, { title: "dry run" });
    await s.delete(core(s, "configmaps", "a"));
    await s.get(core(s, "configmaps", "a"));
    await end();
    await hook.stop();
  }),
  scenario("webhooks see an eviction and not the deletion that it causes", async (s) => {
    await s.until(core(s, "serviceaccounts", "default"), ({ code }) => code === 200);
    const hook = await startWebhook(s, (review) => allow(review));
    const webhooks = [webhook(hook, "pods", rules("pods", "pods/*"))];
    const end = await withWebhooks(s, { kind: "ValidatingWebhookConfiguration", hook, webhooks });
    const spec = { automountServiceAccountToken: false, containers: [{ name: "c", image: "i" }] };
    await s.post(core(s, "pods"), { metadata: { name: "a" }, spec }, { quiet: true });
    hook.reviews.length = 0;
    const eviction = { apiVersion: "policy/v1", kind: "Eviction", metadata: { name: "a", namespace: s.namespace } };
    await s.post(core(s, "pods", "a/eviction"), { ...eviction, deleteOptions: { propagationPolicy: "Nope" } });
    await s.post(
      core(s, "pods", "a/eviction"),
      { ...eviction, deleteOptions: { dryRun: ["All"] } },
      { title: "dry run" },
    );
    await s.post(core(s, "pods", "a/eviction"), eviction, { title: "evicted" });
    s.note(
      "reviewed",
      hook.reviews.map(({ request }) => [
        request.operation,
        request.subResource,
        request.name,
        request.userInfo.username,
      ]),
    );
    await s.get(core(s, "pods", "a"));
    await end();
    await hook.stop();
  }),
  scenario("policies for cluster-scoped objects, for policies, and for the user of a request", async (s) => {
    const roles = { apiGroups: ["rbac.authorization.k8s.io"], resources: ["clusterroles"] };
    await withPolicy(s, "scope", roles, { expression: "namespaceObject != null", message: "no namespace" });
    const own = { apiGroups: ["admissionregistration.k8s.io"], resources: ["*"] };
    await withPolicy(s, "own", own, { expression: "false" });
    const maps = { apiGroups: [""], resources: ["configmaps"] };
    await withPolicy(s, "access", maps, {
      expression: "authorizer.group('').resource('secrets').namespace(request.namespace).check('get').allowed()",
      messageExpression: "request.userInfo.username + ' cannot read Secrets'",
    });
    const labels = { case: s.namespace };
    const metadata = { name: s.namespace, labels };
    // Only users that may create ConfigMaps reach the policies.
    const rbac = "rbac.authorization.k8s.io";
    const rule = { apiGroups: [""], resources: ["configmaps"], verbs: ["create"] };
    const subjects = [{ apiGroup: rbac, kind: "User", name: "maria" }];
    const roleRef = { apiGroup: rbac, kind: "Role", name: "maps" };
    const local = `/apis/${rbac}/v1/namespaces/${s.namespace}`;
    await s.post(`${local}/roles`, { metadata: { name: "maps" }, rules: [rule] }, { quiet: true });
    await s.post(`${local}/rolebindings`, { metadata: { name: "maps" }, roleRef, subjects }, { quiet: true });
    const maria = { headers: { "impersonate-user": "maria" } };
    const write = (): Promise<{ readonly code: number }> =>
      s.post(`${core(s, "configmaps")}?dryRun=All`, labelled("m", labels), { ...maria, quiet: true });
    while ((await write()).code !== 422) await delay(50);
    await delay(500);
    await s.post(`${core(s, "configmaps")}?dryRun=All`, labelled("m", labels), { ...maria, title: "maria" });
    await s.post(`${core(s, "configmaps")}?dryRun=All`, labelled("m", labels), { title: "administrator" });
    await s.post(`/apis/${rbac}/v1/clusterroles?dryRun=All`, { metadata, rules: [] });
    for (const [path, body] of configurations(s)) {
      await s.post(`${path}?dryRun=All`, body, { part: ({ code, message }) => ({ code, message }) });
    }
    await withoutPolicies(s, ["scope", "own", "access"]);
  }),
  scenario("mutating policies for everything and objects that configure admission", async (s) => {
    await withMutation(s, "all", "Object{metadata: Object.metadata{labels: {'added': 'yes'}}}");
    const labels = { case: s.namespace };
    for (;;) {
      const probe = labelled("probe", labels);
      const { body } = await s.post(`${core(s, "configmaps")}?dryRun=All`, probe, { quiet: true });
      if (body.metadata?.labels?.added === "yes") break;
      await delay(50);
    }
    for (const [path, body] of configurations(s)) {
      await s.post(`${path}?dryRun=All`, body, { part: ({ message, metadata }) => message ?? metadata.labels });
    }
    for (const kind of ["mutatingadmissionpolicybindings", "mutatingadmissionpolicies"]) {
      await s.delete(`${admission}/${kind}/${s.namespace}-all`, undefined, { quiet: true });
    }
  }),
];
