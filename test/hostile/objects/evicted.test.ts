// SPDX-License-Identifier: Apache-2.0
// Large stored objects that are no longer decoded in memory: looking into them again must not hold the event loop.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { send } from "../../conformance/harness/wire.ts";
import { startAttackedServer } from "../harness/server.ts";
import { define, definition, definitions, objectNamed, objectsOf, sendJson } from "./attacked-kind.ts";

/** Together several times what the server keeps decoded. */
const objects = 12;
/** Just below the 100,000 values that a body may have. */
const items = Array.from({ length: 24_000 }, (_, i) => ({
  name: `name-${i}`,
  size: i,
  note: `a note about item ${i}`,
}));

const server = await startAttackedServer();
after(() => server[Symbol.asyncDispose]());
const item = {
  type: "object",
  properties: { name: { type: "string" }, size: { type: "integer" }, note: { type: "string" } },
};
await define(server.target, "Evicted", definition("Evicted", { items: { type: "array", items: item } }));
const evicted = objectsOf("Evicted");
await fill(evicted);

/** Creates the objects in a namespace. */
async function fill(path: string): Promise<void> {
  for (let i = 0; i < objects; i += 1) {
    const { code, text } = await sendJson(server.target, ["POST", path], objectNamed("Evicted", `o${i}`, { items }));
    assert.equal(code, 201, text.slice(0, 300));
  }
}

const requests: Record<string, { readonly method?: string; readonly path: string; readonly accept?: string }> = {
  "a list by label": { path: `${evicted}?labelSelector=a!%3Db` },
  "a list by a label that no object has": { path: `${evicted}?labelSelector=a%3Db` },
  "a list by name": { path: `${evicted}?fieldSelector=metadata.name!%3Do1` },
  "a Table": { path: evicted, accept: "application/json;as=Table;g=meta.k8s.io;v=v1" },
  "partial metadata": { path: evicted, accept: "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1" },
  YAML: { path: `${evicted}/o3`, accept: "application/yaml" },
  "one object": { path: `${evicted}/o5` },
  "a watch from the beginning by label": { path: `${evicted}?watch=true&timeoutSeconds=2&labelSelector=a!%3Db` },
  "deletion by label": { method: "DELETE", path: `${evicted}?labelSelector=a!%3Db` },
};
for (const [name, { method = "GET", path, accept = "application/json" }] of Object.entries(requests)) {
  test(`${name} of large objects that are not in memory`, async () => {
    const { code } = await server.during(name, () => send(server.target, { method, path, headers: { accept } }));
    assert.equal(code, 200);
  });
}

/** Deletes something and waits until it is gone. */
async function deleteAndWait(path: string): Promise<void> {
  assert.equal((await sendJson(server.target, ["DELETE", path])).code, 200);
  while ((await sendJson(server.target, ["GET", path])).code !== 404) await delay(20);
}

// Kinds of Kubernetes: any object may have 45,000 labels, and a small request makes the server look at all objects of a kind.

const large = 8;
const labels = Object.fromEntries(Array.from({ length: 45_000 }, (_, i) => [`l${i}`, `some-value-${i}`]));
const inDefault = "/api/v1/namespaces/default";
const rbac = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
const registration = "/apis/admissionregistration.k8s.io/v1";
const mergePatch = "application/merge-patch+json";
const pod = { metadata: { name: "small" }, spec: { containers: [{ name: "c", image: "i" }] } };
const claim = {
  metadata: { name: "small" },
  spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
};

async function created(path: string, object: object): Promise<void> {
  const { code, text } = await sendJson(server.target, ["POST", path], object);
  assert.equal(code, 201, text.slice(0, 300));
}

/** Sends a request until the response has a text. */
async function seen(path: string, text: string): Promise<void> {
  while (!(await sendJson(server.target, ["GET", path])).text.includes(text)) await delay(20);
}

/** A request that looks at all objects of a kind, in the order in which the requests are sent. */
interface Looking {
  readonly what: string;
  /** The large objects: where they are, and what each has beside its metadata. */
  readonly path: string;
  readonly object: object;
  readonly before?: () => Promise<void>;
  readonly requests: Readonly<Record<string, () => Promise<void>>>;
}

const rule = { apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["configmaps"] };

const lookings: readonly Looking[] = [
  {
    what: "PriorityClasses",
    path: "/apis/scheduling.k8s.io/v1/priorityclasses",
    object: { value: 1 },
    requests: { "a new Pod": () => created(`${inDefault}/pods?dryRun=All`, pod) },
  },
  {
    what: "Pods",
    path: `${inDefault}/pods`,
    object: { spec: pod.spec },
    before: () => created(`${inDefault}/persistentvolumeclaims`, claim),
    requests: {
      "a label of their namespace": async () => {
        const body = { metadata: { labels: { "pod-security.kubernetes.io/enforce": "restricted" } } };
        const path = "/api/v1/namespaces/default?dryRun=All";
        const { code, text } = await sendJson(server.target, ["PATCH", path], body, mergePatch);
        assert.equal(code, 200, text.slice(0, 300));
      },
      "a new ResourceQuota": () =>
        created(`${inDefault}/resourcequotas`, { metadata: { name: "q" }, spec: { hard: { pods: "100" } } }),
      "a new Pod under a ResourceQuota": () => created(`${inDefault}/pods?dryRun=All`, pod),
      "the deletion of a claim": () => deleteAndWait(`${inDefault}/persistentvolumeclaims/small`),
      "their own deletion": async () => {
        assert.equal((await sendJson(server.target, ["DELETE", `${inDefault}/pods`])).code, 200);
        await seen(`${inDefault}/resourcequotas/q`, '"used":{"pods":"0"}');
        await deleteAndWait(`${inDefault}/resourcequotas/q`);
      },
    },
  },
  {
    what: "StorageClasses",
    path: "/apis/storage.k8s.io/v1/storageclasses",
    object: { provisioner: "x.y/z" },
    requests: { "a new claim": () => created(`${inDefault}/persistentvolumeclaims?dryRun=All`, claim) },
  },
  {
    what: "IngressClasses",
    path: "/apis/networking.k8s.io/v1/ingressclasses",
    object: { spec: { controller: "x.y/z" } },
    requests: {
      "a new Ingress": () =>
        created("/apis/networking.k8s.io/v1/namespaces/default/ingresses?dryRun=All", {
          metadata: { name: "small" },
          spec: { defaultBackend: { service: { name: "a", port: { number: 1 } } } },
        }),
    },
  },
  {
    what: "ClusterRoles",
    path: rbac,
    object: { rules: [] },
    requests: {
      "a ClusterRole made of others": async () => {
        const rules = [{ apiGroups: ["a.example.org"], resources: ["b"], verbs: ["get"] }];
        const clusterRoleSelectors = [{ matchLabels: { "part-of": "small" } }];
        await created(rbac, { metadata: { name: "small" }, aggregationRule: { clusterRoleSelectors }, rules: [] });
        await created(rbac, { metadata: { name: "part", labels: { "part-of": "small" } }, rules });
        await seen(`${rbac}/small`, "a.example.org");
      },
    },
  },
  {
    what: "EndpointSlices",
    path: "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices",
    object: { addressType: "IPv4", endpoints: [] },
    before: async () => {
      await created(`${inDefault}/services`, { metadata: { name: "small" }, spec: { ports: [{ port: 443 }] } });
      const clientConfig = { service: { name: "small", namespace: "default" } };
      const webhook = { name: "a.example.org", clientConfig, failurePolicy: "Ignore", rules: [rule] };
      const webhooks = [{ ...webhook, sideEffects: "None", admissionReviewVersions: ["v1"] }];
      await created(`${registration}/validatingwebhookconfigurations`, { metadata: { name: "small" }, webhooks });
    },
    requests: {
      "the call of a webhook": async () => {
        await created(`${inDefault}/configmaps?dryRun=All`, { metadata: { name: "small" } });
        await deleteAndWait(`${registration}/validatingwebhookconfigurations/small`);
      },
      "an APIService": async () => {
        const service = { name: "small", namespace: "default" };
        const spec = { group: "small.example.org", version: "v1", groupPriorityMinimum: 100, versionPriority: 100 };
        const path = "/apis/apiregistration.k8s.io/v1/apiservices";
        const metadata = { name: "v1.small.example.org" };
        await created(path, { metadata, spec: { ...spec, insecureSkipTLSVerify: true, service } });
        await seen(`${path}/v1.small.example.org`, "EndpointsNotFound");
        await deleteAndWait(`${path}/v1.small.example.org`);
      },
    },
  },
  {
    what: "Secrets",
    path: `${inDefault}/secrets`,
    object: {},
    before: async () => {
      const matchConstraints = { resourceRules: [rule] };
      const spec = { paramKind: { apiVersion: "v1", kind: "Secret" }, failurePolicy: "Ignore", matchConstraints };
      const metadata = { name: "small" };
      const validations = [{ expression: "true" }];
      await created(`${registration}/validatingadmissionpolicies`, { metadata, spec: { ...spec, validations } });
      const paramRef = { selector: { matchLabels: { no: "such" } }, parameterNotFoundAction: "Allow" };
      const binding = { policyName: "small", validationActions: ["Deny"], paramRef };
      await created(`${registration}/validatingadmissionpolicybindings`, { metadata, spec: binding });
    },
    requests: {
      "the parameters of a policy": () =>
        created(`${inDefault}/configmaps?dryRun=All`, { metadata: { name: "small" } }),
    },
  },
];

for (const { what, path, object, before, requests } of lookings) {
  test(`small requests that look at ${large} large ${what}`, async () => {
    await before?.();
    for (let i = 0; i < large; i += 1) await created(path, { metadata: { name: `large${i}`, labels }, ...object });
    for (const [name, request] of Object.entries(requests)) await server.during(`${what}: ${name}`, request);
    assert.equal((await sendJson(server.target, ["DELETE", `${path}?labelSelector=l0`])).code, 200);
  });
}

test("the deletion of a namespace with large objects that are not in memory", async () => {
  const namespace = { apiVersion: "v1", kind: "Namespace", metadata: { name: "crowded" } };
  assert.equal((await sendJson(server.target, ["POST", "/api/v1/namespaces"], namespace)).code, 201);
  await fill(evicted.replace("/default/", "/crowded/"));
  await server.during("namespace", () => deleteAndWait("/api/v1/namespaces/crowded"));
});

test("the deletion of a definition with large objects that are not in memory", async () => {
  await fill(evicted);
  await server.during("definition", () => deleteAndWait(`${definitions}/evicteds.hostile.example.org`));
});

test("the server has had no more memory than it may", () => {
  server.requireBoundedMemory();
});
