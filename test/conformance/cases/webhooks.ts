// SPDX-License-Identifier: Apache-2.0
// Admission webhooks that allow, deny, change, warn, fail and break the protocol.
import { setTimeout as delay } from "node:timers/promises";
import { type Case, scenario } from "../harness/case.ts";
import { configMap, core, deployment, inGroup } from "../harness/fixtures.ts";
import type { Loose } from "../harness/loose.ts";
import type { Session } from "../harness/session.ts";
import {
  allow,
  everyWrite,
  patching,
  respond,
  startWebhook,
  type WebhookAnswer,
  type WebhookServer,
  withWebhooks,
} from "../harness/webhook-server.ts";

/** A webhook that one label selects, with what it answers. */
interface Row {
  readonly answer?: WebhookAnswer;
  readonly more?: Loose;
}

const deny = (status?: Loose): Row => ({
  answer: (review) => respond(review, { allowed: false, ...(status && { status }) }),
});

const validating: Readonly<Record<string, Row>> = {
  "no-status": deny(),
  teapot: deny({ code: 418, reason: "Teapot", message: "short and stout" }),
  success: deny({ code: 200, status: "Success", message: "but no" }),
  "only-reason": deny({ code: 409, reason: "because it is so" }),
  details: deny({ message: "m", details: { name: "x", kind: "y", causes: [{ message: "c", field: "f" }] } }),
  warned: { answer: (review) => respond(review, { allowed: false, warnings: ["first", 'second "quoted"'] }) },
  uid: { answer: (review) => respond(review, { uid: "q", allowed: true }) },
  "no-response": { answer: (review) => ({ apiVersion: review.apiVersion, kind: "AdmissionReview" }) },
  beta: { answer: (review) => ({ ...allow(review), apiVersion: "admission.k8s.io/v1beta1" }) },
  patch: { answer: (review) => patching(review, [], { patchType: undefined }) },
  "patch-type": { answer: (review) => allow(review, { patchType: "JSONPatch" }) },
  text: { answer: () => ({ raw: "hello" }) },
  list: { answer: () => ({ raw: "[]" }) },
  "no-body": { answer: () => ({ raw: "" }) },
  "no-content": { answer: () => ({ code: 204, raw: "" }) },
  "null-body": { answer: () => ({ raw: "null" }) },
  yaml: { answer: () => ({ raw: "kind: AdmissionReview\napiVersion: admission.k8s.io/v1\nresponse:\n  uid: a\n" }) },
  "half-yaml": { answer: () => ({ raw: "kind: [" }) },
  "status-in-200": { answer: () => ({ apiVersion: "v1", kind: "Status", status: "Failure", message: "no entry" }) },
  "options-in-200": { answer: () => ({ apiVersion: "v1", kind: "ListOptions" }) },
  "event-in-200": { answer: () => ({ apiVersion: "admission.k8s.io/v1", kind: "WatchEvent" }) },
  "response-list": { answer: (review) => ({ ...allow(review), response: [] }) },
  "kind-number": { answer: (review) => ({ ...allow(review), kind: 7 }) },
  "version-number": { answer: (review) => ({ ...allow(review), apiVersion: 7 }) },
  "typed-uid": { answer: (review) => allow(review, { uid: 7 }) },
  "typed-allowed": { answer: (review) => allow(review, { allowed: "yes" }) },
  "typed-status": { answer: (review) => allow(review, { status: "no" }) },
  "typed-message": { answer: (review) => respond(review, { allowed: false, status: { message: 7 } }) },
  "typed-code": { answer: (review) => respond(review, { allowed: false, status: { code: "x" } }) },
  "typed-details": { answer: (review) => respond(review, { allowed: false, status: { details: [] } }) },
  "typed-causes": { answer: (review) => respond(review, { allowed: false, status: { details: { causes: [7] } } }) },
  "typed-patch": { answer: (review) => allow(review, { patch: {} }) },
  "typed-base64": { answer: (review) => allow(review, { patch: "not base64" }) },
  "typed-warnings": { answer: (review) => allow(review, { warnings: "x" }) },
  "typed-warning": { answer: (review) => allow(review, { warnings: [7] }) },
  "typed-audit": { answer: (review) => allow(review, { auditAnnotations: [] }) },
  "typed-annotation": { answer: (review) => allow(review, { auditAnnotations: { a: 7 } }) },
  "typed-request": { answer: (review) => ({ ...allow(review), request: { uid: 7 } }) },
  "no-kind": { answer: (review) => ({ apiVersion: review.apiVersion, response: {} }) },
  "other-kind": { answer: () => ({ apiVersion: "v1", kind: "Pod" }) },
  "code-500": { answer: () => ({ code: 500, raw: "{}" }) },
  "code-500-text": { answer: () => ({ code: 500, raw: "out of order\n", headers: { "content-type": "text/plain" } }) },
  "code-404": { answer: () => ({ code: 404, raw: "{}" }) },
  "code-400": { answer: () => ({ code: 400, raw: "{}" }) },
  "code-403": { answer: () => ({ code: 403, raw: "no", headers: { "content-type": "text/plain" } }) },
  "code-503": { answer: () => ({ code: 503, raw: "{}" }) },
  redirect: {
    answer: (review, path) =>
      path.startsWith("/redirect") ? { code: 302, raw: "", headers: { location: "/elsewhere" } } : allow(review),
  },
  circle: {
    answer: (_, path) => {
      const count = Number(/\d+$/.exec(path)?.[0] ?? 0);
      return { code: 302, raw: "", headers: { location: `/circle/${count + 1}` } };
    },
  },
  refused: { more: { clientConfig: { url: "https://127.0.0.1:1/x" } } },
  "refused-ignored": { more: { clientConfig: { url: "https://127.0.0.1:1/x" }, failurePolicy: "Ignore" } },
  slow: {
    answer: async (review) => {
      await delay(4000);
      return allow(review);
    },
    more: { timeoutSeconds: 1 },
  },
  "no-service": { more: { clientConfig: { service: { namespace: "default", name: "nope", path: "/x" } } } },
  "bad-bundle": { more: { clientConfig: { url: "https://127.0.0.1:1/x", caBundle: "anVuaw==" } } },
  allowed: { answer: (review) => allow(review, { warnings: ["as you like"], auditAnnotations: { k: "v" } }) },
  v1beta1: {
    answer: (review) => ({ apiVersion: review.apiVersion, kind: "AdmissionReview", response: { allowed: true } }),
    more: { admissionReviewVersions: ["v1beta1", "v1"] },
  },
  "condition-true": { ...deny(), more: { matchConditions: [{ name: "a", expression: "object.data.a == '1'" }] } },
  "condition-false": {
    ...deny(),
    more: { matchConditions: [{ name: "a", expression: "request.operation == 'DELETE'" }] },
  },
  "condition-error": { ...deny(), more: { matchConditions: [{ name: "a", expression: "object.missing.x == 1" }] } },
  "condition-ignored": {
    ...deny(),
    more: { matchConditions: [{ name: "a", expression: "object.missing.x == 1" }], failurePolicy: "Ignore" },
  },
  "condition-both": {
    ...deny(),
    more: {
      matchConditions: [
        { name: "a", expression: "object.missing.x == 1" },
        { name: "b", expression: "request.userInfo.username == 'other'" },
      ],
    },
  },
  "condition-access": {
    ...deny(),
    more: { matchConditions: [{ name: "a", expression: "authorizer.requestResource.check('delete').allowed()" }] },
  },
  exact: { more: { matchPolicy: "Exact" } },
};

const mutating: Readonly<Record<string, Row>> = {
  add: { answer: (review) => patching(review, [{ op: "add", path: "/data/hook", value: "was here" }]) },
  "invalid-key": { answer: (review) => patching(review, [{ op: "add", path: "/data/~1~1", value: "x" }]) },
  "wrong-type": { answer: (review) => patching(review, [{ op: "add", path: "/data/x", value: 7 }]) },
  missing: {
    answer: (review) => patching(review, [{ op: "remove", path: "/data/zzz" }]),
    more: { failurePolicy: "Ignore" },
  },
  "missing-parent": { answer: (review) => patching(review, [{ op: "add", path: "/nope/zzz", value: 1 }]) },
  replace: { answer: (review) => patching(review, [{ op: "replace", path: "/nope/zzz", value: 1 }]) },
  test: { answer: (review) => patching(review, [{ op: "test", path: "/data/a", value: "no" }]) },
  "unknown-op": { answer: (review) => patching(review, [{ op: "jump", path: "/data/a" }]) },
  empty: { answer: (review) => patching(review, []) },
  "no-type": { answer: (review) => patching(review, [{ op: "remove", path: "/data" }], { patchType: undefined }) },
  merge: { answer: (review) => patching(review, [{ op: "remove", path: "/data" }], { patchType: "Merge" }) },
  "only-type": { answer: (review) => allow(review, { patchType: "JSONPatch" }) },
  "no-json": { answer: (review) => patching(review, "{") },
  "no-list": { answer: (review) => patching(review, { op: "add" }) },
  rename: { answer: (review) => patching(review, [{ op: "replace", path: "/metadata/name", value: "renamed" }]) },
  "other-namespace": {
    answer: (review) => patching(review, [{ op: "replace", path: "/metadata/namespace", value: "default" }]),
  },
  "unknown-field": { answer: (review) => patching(review, [{ op: "add", path: "/nope", value: 1 }]) },
  denied: deny({ message: "not here", reason: "Forbidden", code: 403 }),
};

const labelled = (name: string, label: string): Loose => ({
  ...configMap(name),
  metadata: { name, labels: { case: label } },
});

/** Registers one webhook for each row, selected by the label `case`. */
async function withRows(
  s: Session,
  kind: "ValidatingWebhookConfiguration" | "MutatingWebhookConfiguration",
  rows: Readonly<Record<string, Row>>,
): Promise<{ readonly hook: WebhookServer; readonly end: () => Promise<void> }> {
  const hook = await startWebhook(s, (review, path) => {
    const name = path.slice(1).split("?")[0] ?? "";
    return (rows[name]?.answer ?? allow)(review, path);
  });
  const webhooks = Object.entries(rows).map(([name, { more = {} }]) => ({
    ...everyWrite,
    name: `${name}.test.example.org`,
    clientConfig: { url: `${hook.url}/${name}`, caBundle: hook.caBundle },
    objectSelector: { matchLabels: { case: name } },
    ...more,
  }));
  const unregister = await withWebhooks(s, { kind, hook, webhooks });
  return {
    hook,
    end: async () => {
      await unregister();
      await hook.stop();
    },
  };
}

/** What a review says, without what differs between servers. */
function shown(review: Loose): Loose {
  const { uid: _, userInfo, ...request } = review.request ?? {};
  return { kind: review.kind, apiVersion: review.apiVersion, request: { ...request, user: userInfo?.username } };
}

async function recorded(s: Session, hook: WebhookServer, title: string, act: () => Promise<unknown>): Promise<void> {
  hook.reviews.length = 0;
  await act();
  s.note(title, hook.reviews.map(shown));
}

export const webhookCases: readonly Case[] = [
  scenario("validating webhooks that answer in every way", async (s) => {
    const { hook, end } = await withRows(s, "ValidatingWebhookConfiguration", validating);
    for (const name of Object.keys(validating)) {
      await s.post(core(s, "configmaps"), labelled(name, name));
    }
    s.note("paths", hook.called);
    await end();
  }),
  scenario("mutating webhooks that answer in every way", async (s) => {
    const { end } = await withRows(s, "MutatingWebhookConfiguration", mutating);
    for (const name of Object.keys(mutating)) {
      await s.post(core(s, "configmaps"), labelled(name, name));
    }
    await s.delete(core(s, "configmaps", "add"));
    await end();
  }),
  scenario("requests to webhooks", async (s) => {
    const hook = await startWebhook(s, (review) => allow(review));
    const clientConfig = { url: hook.url, caBundle: hook.caBundle };
    const rules = [
      {
        apiGroups: ["*"],
        apiVersions: ["*"],
        operations: ["*"],
        resources: ["configmaps", "deployments", "deployments/*"],
      },
    ];
    const webhooks = [{ ...everyWrite, name: "all.test.example.org", clientConfig, rules }];
    const end = await withWebhooks(s, { kind: "ValidatingWebhookConfiguration", hook, webhooks });
    const maps = core(s, "configmaps");
    await recorded(s, hook, "create", () => s.post(`${maps}?fieldManager=m`, configMap("a")));
    await recorded(s, hook, "exists", () => s.post(maps, configMap("a")));
    await recorded(s, hook, "dry run", () => s.post(`${maps}?dryRun=All`, configMap("b")));
    await recorded(s, hook, "update", () => s.put(`${maps}/a`, configMap("a", { a: "2" })));
    await recorded(s, hook, "no change", () => s.patch(`${maps}/a`, "merge", { data: { a: "2" } }));
    await recorded(s, hook, "apply", () => s.patch(`${maps}/a?fieldManager=m&force=true`, "apply", configMap("a")));
    await recorded(s, hook, "apply new", () => s.patch(`${maps}/c?fieldManager=m`, "apply", configMap("c")));
    await recorded(s, hook, "dry delete", () => s.delete(`${maps}/a?dryRun=All`));
    await recorded(s, hook, "delete", () => s.delete(`${maps}/a`, { propagationPolicy: "Background" }));
    await recorded(s, hook, "collection", () => s.delete(maps, undefined, { quiet: true }));
    await recorded(s, hook, "invalid", () => s.post(maps, configMap("No Name")));
    await s.post(inGroup(s, "apps/v1/deployments"), deployment("d"), { quiet: true });
    await recorded(s, hook, "status", () =>
      s.patch(`${inGroup(s, "apps/v1/deployments", "d")}/status`, "merge", { status: { replicas: 1 } }),
    );
    await recorded(s, hook, "scale", () =>
      s.patch(`${inGroup(s, "apps/v1/deployments", "d")}/scale`, "merge", { spec: { replicas: 2 } }),
    );
    await end();
    await hook.stop();
  }),
  scenario("mutating webhooks are called again after a change", async (s) => {
    for (const [first, second] of [
      ["IfNeeded", "Never"],
      ["Never", "IfNeeded"],
      ["IfNeeded", "IfNeeded"],
    ]) {
      const hook = await startWebhook(s, (review, path) => {
        const key = path.slice(1).split("?")[0] ?? "";
        const count = Number(review.request.object.data?.[key] ?? 0) + 1;
        return patching(review, [{ op: "add", path: `/data/${key}`, value: String(count) }]);
      });
      const one = (name: string, reinvocationPolicy: string | undefined): Loose => ({
        ...everyWrite,
        name: `${name}.test.example.org`,
        clientConfig: { url: `${hook.url}/${name}`, caBundle: hook.caBundle },
        objectSelector: { matchLabels: { case: "again" } },
        reinvocationPolicy,
      });
      const webhooks = [one("x", first), one("y", second)];
      const end = await withWebhooks(s, { kind: "MutatingWebhookConfiguration", hook, webhooks });
      await s.post(core(s, "configmaps"), labelled(`r-${first}-${second}`.toLowerCase(), "again"));
      s.note("called", hook.called);
      await end();
      await hook.stop();
    }
  }),
  scenario("webhooks by scope, version, name and kind of object", async (s) => {
    const hook = await startWebhook(s, (review) => allow(review));
    const one = (name: string, rule: Loose, more: Loose = {}): Loose => ({
      ...everyWrite,
      name: `${name}.test.example.org`,
      clientConfig: { url: `${hook.url}/${name}`, caBundle: hook.caBundle },
      namespaceSelector: {},
      objectSelector: { matchLabels: { case: s.namespace } },
      rules: [{ apiGroups: ["*"], apiVersions: ["*"], operations: ["CREATE"], resources: ["*"], ...rule }],
      ...more,
    });
    const v1 = { apiGroups: ["autoscaling"], apiVersions: ["v1"], resources: ["horizontalpodautoscalers"] };
    const webhooks = [
      one("namespaced", { scope: "Namespaced", resources: ["namespaces", "leases"] }),
      one("cluster", { scope: "Cluster", resources: ["namespaces"] }),
      one(
        "review",
        { resources: ["selfsubjectaccessreviews"] },
        {
          objectSelector: {},
          matchConditions: [
            { name: "own", expression: `object.spec.resourceAttributes.namespace == '${s.namespace}'` },
          ],
        },
      ),
      one("equivalent", v1),
      one("exact", v1, { matchPolicy: "Exact" }),
      one("named", { resources: ["secrets"] }),
    ];
    const ends = [
      await withWebhooks(s, { kind: "MutatingWebhookConfiguration", hook, webhooks: webhooks.slice(-1) }),
      await withWebhooks(s, { kind: "ValidatingWebhookConfiguration", hook, webhooks }),
    ];
    const labels = { case: s.namespace };
    const called = async (title: string, path: string, object: Loose): Promise<void> => {
      hook.called.length = 0;
      const metadata = object.metadata && { metadata: { ...object.metadata, labels } };
      await recorded(s, hook, title, () => s.post(path, { ...object, ...metadata }));
      s.note(`paths of ${title}`, hook.called.toSorted());
    };
    const name = `${s.namespace}-made`;
    await called("namespace", "/api/v1/namespaces", { apiVersion: "v1", kind: "Namespace", metadata: { name } });
    await called("review", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", {
      apiVersion: "authorization.k8s.io/v1",
      kind: "SelfSubjectAccessReview",
      spec: { resourceAttributes: { verb: "get", resource: "pods", namespace: s.namespace } },
    });
    await called("lease", inGroup(s, "coordination.k8s.io/v1/leases"), {
      apiVersion: "coordination.k8s.io/v1",
      kind: "Lease",
      metadata: { name: "l" },
    });
    await called("autoscaler", inGroup(s, "autoscaling/v2/horizontalpodautoscalers"), {
      apiVersion: "autoscaling/v2",
      kind: "HorizontalPodAutoscaler",
      metadata: { name: "h" },
      spec: { maxReplicas: 3, scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "d" } },
    });
    await called("generated name", core(s, "secrets"), {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { generateName: "g-" },
    });
    await called("invalid", core(s, "secrets"), { apiVersion: "v1", kind: "Secret", metadata: { name: "No Name" } });
    for (const end of ends) await end();
    await hook.stop();
  }),
  scenario("match conditions that do not compile", async (s) => {
    const path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
    const expressions = [
      "1",
      "params.x == 1",
      "namespaceObject.metadata.name == 'x'",
      "object.",
      "request.object == null",
      "",
      "variables.a",
    ];
    for (const expression of expressions) {
      await s.post(`${path}?dryRun=All`, {
        apiVersion: "admissionregistration.k8s.io/v1",
        kind: "ValidatingWebhookConfiguration",
        metadata: { name: s.namespace },
        webhooks: [
          {
            ...everyWrite,
            name: "a.test.example.org",
            clientConfig: { url: "https://127.0.0.1:1/x" },
            matchConditions: [{ name: "a", expression }],
          },
        ],
      });
    }
  }),
  scenario("a webhook behind a Service with an external name", async (s) => {
    const hook = await startWebhook(s, (review) => respond(review, { allowed: false, status: { message: "reached" } }));
    const service = (name: string, spec: Loose): Loose => ({
      apiVersion: "v1",
      kind: "Service",
      metadata: { name },
      spec,
    });
    await s.post(
      "/api/v1/namespaces/default/services",
      service("hook", { type: "ExternalName", externalName: "localhost" }),
      { quiet: true },
    );
    const target = { namespace: "default", name: "hook", path: "/hook", port: hook.port };
    const rows: readonly Loose[] = [{ service: target }, { service: { ...target, name: "other" } }];
    await s.post(
      "/api/v1/namespaces/default/services",
      service("other", { type: "ExternalName", externalName: "localhost" }),
      { quiet: true },
    );
    const webhooks = rows.map((clientConfig, index) => ({
      ...everyWrite,
      name: `n${index}.test.example.org`,
      clientConfig: { ...clientConfig, caBundle: hook.caBundle },
      objectSelector: { matchLabels: { case: `n${index}` } },
    }));
    const end = await withWebhooks(s, { kind: "ValidatingWebhookConfiguration", hook, webhooks });
    await s.post(core(s, "configmaps"), labelled("a", "n0"));
    await s.post(core(s, "configmaps"), labelled("b", "n1"));
    await end();
    await hook.stop();
  }),
];
