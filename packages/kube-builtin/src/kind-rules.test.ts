// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { answerValue } from "@purlin/kube-apiserver/testing";
import type { JsonObject } from "@purlin/kube-objects/json";
import { startTestServer, type TestServer } from "../test/index.ts";

let server: TestServer;
before(async () => {
  server = await startTestServer();
});
after(() => server[Symbol.asyncDispose]());

const namespaced = (path: string): string => path.replace("ns", "namespaces/default");
const template = (labels: JsonObject): JsonObject => ({
  metadata: { labels },
  spec: { containers: [{ name: "c", image: "i:1" }] },
});

interface CreateCase {
  readonly reason: string;
  readonly path: string;
  readonly object: JsonObject;
  /** Members to look at, or the refusal. */
  readonly want: JsonObject | RegExp;
}

const creates: Record<string, CreateCase> = {
  ConfigMapKey: {
    reason: "a key with a space",
    path: "/api/v1/ns/configmaps",
    object: { data: { "a b": "1" } },
    want: /data\[a b\]: Invalid value: "a b": a valid config key/,
  },
  ConfigMapDots: {
    reason: "a key that climbs",
    path: "/api/v1/ns/configmaps",
    object: { data: { "..": "1" } },
    want: /must not be '\.\.'/,
  },
  ConfigMapTwice: {
    reason: "one key in both maps",
    path: "/api/v1/ns/configmaps",
    object: { data: { a: "1" }, binaryData: { a: "MQ==" } },
    want: /duplicate of key present in binaryData/,
  },
  ConfigMapSize: {
    reason: "more than a mebibyte",
    path: "/api/v1/ns/configmaps",
    object: { data: { a: "x".repeat(1_100_000) } },
    want: /Too long: may not be more than 1048576 bytes/,
  },
  SecretText: {
    reason: "text becomes data",
    path: "/api/v1/ns/secrets",
    object: { stringData: { a: "hi" }, data: { b: "aG8=" } },
    want: { type: "Opaque", data: { a: "aGk=", b: "aG8=" }, stringData: null },
  },
  SecretTls: {
    reason: "keys its type needs",
    path: "/api/v1/ns/secrets",
    object: { type: "kubernetes.io/tls", data: { "tls.crt": "" } },
    want: /data\[tls.key\]: Required value/,
  },
  Namespace: {
    reason: "what every namespace has",
    path: "/api/v1/namespaces",
    object: {},
    want: { spec: { finalizers: ["kubernetes"] }, status: { phase: "Active" } },
  },
  Headless: {
    reason: "no address wanted",
    path: "/api/v1/ns/services",
    object: { spec: { clusterIP: "None" } },
    want: {},
  },
  NoPorts: {
    reason: "a service needs ports",
    path: "/api/v1/ns/services",
    object: { spec: {} },
    want: /spec.ports: Required value/,
  },
  BadPort: {
    reason: "an invalid port",
    path: "/api/v1/ns/services",
    object: { spec: { ports: [{ port: 70_000 }] } },
    want: /spec.ports\[0\].port: Invalid value: 70000/,
  },
  Event: {
    reason: "where its subject is",
    path: "/api/v1/ns/events",
    object: { involvedObject: { namespace: "elsewhere" } },
    want: /involvedObject.namespace: Invalid value: "elsewhere": does not match event.namespace/,
  },
  NamedEvent: {
    reason: "the newer group wants more",
    path: "/apis/events.k8s.io/v1/ns/events",
    object: { regarding: { namespace: "default" } },
    want: /eventTime: Required value.*type: Invalid value: "": has invalid value: /,
  },
  RoleBinding: {
    reason: "a kind that is not a role",
    path: "/apis/rbac.authorization.k8s.io/v1/ns/rolebindings",
    object: { roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Pod", name: "x" } },
    want: /roleRef.kind: Unsupported value: "Pod"/,
  },
  Deployment: {
    reason: "defaults",
    path: "/apis/apps/v1/ns/deployments",
    object: { spec: { selector: { matchLabels: { a: "b" } }, template: template({ a: "b" }) } },
    want: { status: {} },
  },
  Mismatch: {
    reason: "its own pods must match",
    path: "/apis/apps/v1/ns/deployments",
    object: { spec: { selector: { matchLabels: { a: "b" } }, template: template({ a: "c" }) } },
    want: /`selector` does not match template `labels`/,
  },
  NoSelector: {
    reason: "it must select",
    path: "/apis/apps/v1/ns/deployments",
    object: { spec: { template: template({ a: "c" }) } },
    want: /spec.selector: Required value/,
  },
  Finalizer: {
    reason: "whose it is",
    path: "/api/v1/ns/configmaps",
    object: { metadata: { finalizers: ["mine"] } },
    want: /metadata.finalizers\[0\]: Invalid value: "mine": name is neither a standard/,
  },
};

for (const [name, { reason, path, object, want }] of Object.entries(creates)) {
  test(`create: ${name}`, async () => {
    const metadata = { name: name.toLowerCase(), ...((object["metadata"] as JsonObject | undefined) ?? {}) };
    const response = await server.send(namespaced(path), { method: "POST", body: { ...object, metadata } });
    const answer = answerValue(response) as JsonObject;
    if (want instanceof RegExp) {
      assert.ok(response.code === 422 || response.code === 400, `${reason}: ${JSON.stringify(answer)}`);
      assert.match(String(answer["message"]), want, reason);
      return;
    }
    assert.equal(response.code, 201, `${reason}: ${JSON.stringify(answer)}`);
    for (const [member, value] of Object.entries(want)) {
      assert.deepEqual(answer[member] ?? null, value, `${reason}: ${member}`);
    }
  });
}

interface ChangeCase {
  readonly reason: string;
  readonly path: string;
  readonly object: JsonObject;
  readonly patch: JsonObject;
  readonly want: RegExp | undefined;
}

const changes: Record<string, ChangeCase> = {
  Immutable: {
    reason: "said to stay",
    path: "/api/v1/ns/configmaps",
    object: { immutable: true, data: { a: "1" } },
    patch: { data: { a: "2" } },
    want: /data: Forbidden: field is immutable when `immutable` is set/,
  },
  ImmutableForever: {
    reason: "and to keep it",
    path: "/api/v1/ns/configmaps",
    object: { immutable: true },
    patch: { immutable: false },
    want: /immutable: Forbidden/,
  },
  SecretType: {
    reason: "its type",
    path: "/api/v1/ns/secrets",
    object: {},
    patch: { type: "other" },
    want: /type: Invalid value: "other": field is immutable/,
  },
  RoleRef: {
    reason: "what it grants",
    path: "/apis/rbac.authorization.k8s.io/v1/ns/rolebindings",
    object: { roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "a" } },
    patch: { roleRef: { name: "b" } },
    want: /cannot change roleRef/,
  },
  ClusterIP: {
    reason: "its address",
    path: "/api/v1/ns/services",
    object: { spec: { ports: [{ port: 80 }] } },
    patch: { spec: { clusterIP: "10.0.1.2" } },
    want: /spec.clusterIPs\[0\]: Invalid value: \["10.0.1.2"\]: may not change once set/,
  },
  KeepsClusterIP: {
    reason: "an address left out stays",
    path: "/api/v1/ns/services",
    object: { spec: { ports: [{ port: 80 }] } },
    patch: { spec: { clusterIP: null, clusterIPs: null } },
    want: undefined,
  },
  Selector: {
    reason: "what it selects",
    path: "/apis/apps/v1/ns/deployments",
    object: { spec: { selector: { matchLabels: { a: "b" } }, template: template({ a: "b", c: "d" }) } },
    patch: { spec: { selector: { matchLabels: { a: null, c: "d" } } } },
    want: /spec.selector: Invalid value.*field is immutable/,
  },
};

for (const [name, { reason, path, object, patch, want }] of Object.entries(changes)) {
  test(`change: ${name}`, async () => {
    const created = await server.post(namespaced(path), {
      ...object,
      metadata: { name: `change-${name.toLowerCase()}` },
    });
    const url = `${namespaced(path)}/change-${name.toLowerCase()}`;
    const response = await server.send(url, {
      method: "PATCH",
      headers: { "content-type": "application/merge-patch+json" },
      body: patch,
    });
    const answer = answerValue(response) as JsonObject;
    if (want === undefined) {
      assert.deepEqual([response.code, answer["spec"]], [200, created["spec"]], reason);
    } else {
      assert.equal(response.code, 422, reason);
      assert.match(String(answer["message"]), want, reason);
    }
  });
}

test("services created at the same time have addresses and ports of their own", async () => {
  const nodePorts = new Set<string>();
  const addresses = await Promise.all(
    Array.from({ length: 20 }, async () => {
      const service = await server.post(namespaced("/api/v1/ns/services"), {
        metadata: { generateName: "s-" },
        spec: { type: "NodePort", ports: [{ port: 80 }] },
      });
      const { clusterIP, ports } = service["spec"] as JsonObject;
      nodePorts.add(JSON.stringify(ports));
      return clusterIP;
    }),
  );
  assert.equal(nodePorts.size, 20);
  assert.equal(new Set(addresses).size, 20);
  assert.ok(addresses.every((address) => /^10\.0\.\d+\.\d+$/.test(String(address))));
});

test("the status and the rest are changed apart", async () => {
  const path = namespaced("/apis/apps/v1/ns/deployments");
  await server.post(path, {
    metadata: { name: "parts" },
    spec: { selector: { matchLabels: { a: "b" } }, template: template({ a: "b" }) },
    status: { replicas: 9 },
  });
  assert.deepEqual((await server.body(`${path}/parts`))["status"], {}, "a new one has none");
  const main = await server.patch(`${path}/parts`, { status: { replicas: 3 }, spec: { replicas: 2 } });
  assert.deepEqual([main["status"], (main["spec"] as JsonObject)["replicas"]], [{}, 2]);
  const status = await server.patch(`${path}/parts/status`, {
    status: { replicas: 3 },
    spec: { replicas: 5 },
    metadata: { labels: { x: "y" } },
  });
  assert.deepEqual([status["status"], (status["spec"] as JsonObject)["replicas"]], [{ replicas: 3 }, 2]);
  const { labels, generation } = status["metadata"] as unknown as { labels?: JsonObject; generation: number };
  assert.deepEqual([labels, generation], [undefined, 2]);
});

const huge = 9223372036854775807n;
const lowest = -(2n ** 63n);
const podOf = (spec: JsonObject, container: JsonObject = {}): JsonObject => ({
  spec: { containers: [{ name: "c", image: "i:1", ...container }], ...spec },
});
const exec = { exec: { command: ["true"] } };
const projected = (expirationSeconds: bigint): JsonObject => ({
  volumes: [{ name: "v", projected: { sources: [{ serviceAccountToken: { path: "t", expirationSeconds } }] } }],
});
const claimOf = (parameters: JsonObject): JsonObject => ({
  spec: { devices: { config: [{ opaque: { driver: "example.org", parameters } }] } },
});

// int64 fields: what lies beyond 2^53 is judged as any other number.
const hugeIntegers: Record<string, { path: string; object: JsonObject; want: RegExp | undefined }> = {
  "a deadline of a Pod": {
    path: "/api/v1/ns/pods",
    object: podOf({ activeDeadlineSeconds: huge }),
    want: /spec\.activeDeadlineSeconds: Invalid value: 9223372036854775807: must be between 1 and 2147483647/,
  },
  "a time of a toleration": {
    path: "/api/v1/ns/pods",
    object: podOf({ tolerations: [{ operator: "Exists", effect: "NoSchedule", tolerationSeconds: huge }] }),
    want: /effect must be 'NoExecute' when `tolerationSeconds` is set/,
  },
  "a grace period of a probe": {
    path: "/api/v1/ns/pods",
    object: podOf({}, { livenessProbe: { ...exec, terminationGracePeriodSeconds: lowest } }),
    want: /terminationGracePeriodSeconds: Invalid value: -9223372036854775808: must be greater than 0/,
  },
  "a grace period of a readiness probe": {
    path: "/api/v1/ns/pods",
    object: podOf({}, { readinessProbe: { ...exec, terminationGracePeriodSeconds: huge } }),
    want: /9223372036854775807: must not be set for readinessProbes/,
  },
  "a sleep longer than the grace period": {
    path: "/api/v1/ns/pods",
    object: podOf({}, { lifecycle: { preStop: { sleep: { seconds: huge } } } }),
    want: /Invalid value: 9223372036854775807: must be non-negative and less than terminationGracePeriodSeconds \(30\)/,
  },
  "a sleep within the grace period": {
    path: "/api/v1/ns/pods",
    object: podOf({ terminationGracePeriodSeconds: huge }, { lifecycle: { preStop: { sleep: { seconds: huge } } } }),
    want: undefined,
  },
  "an expiration of a token": {
    path: "/api/v1/ns/pods",
    object: podOf(projected(huge)),
    want: /expirationSeconds: Invalid value: 9223372036854775807: may not specify a duration larger than 2\^32 seconds/,
  },
  "a deadline of a CronJob": {
    path: "/apis/batch/v1/ns/cronjobs",
    object: {
      spec: {
        schedule: "* * * * *",
        startingDeadlineSeconds: lowest,
        jobTemplate: {
          spec: { template: { spec: { restartPolicy: "Never", containers: [{ name: "c", image: "i" }] } } },
        },
      },
    },
    want: /startingDeadlineSeconds: Invalid value: -9223372036854775808: must be greater than or equal to 0/,
  },
  "a deadline in the template of a Deployment": {
    path: "/apis/apps/v1/ns/deployments",
    object: {
      spec: {
        selector: { matchLabels: { a: "b" } },
        template: { metadata: { labels: { a: "b" } }, ...podOf({ activeDeadlineSeconds: 9007199254740993n }) },
      },
    },
    want: /activeDeadlineSeconds in ReplicaSet is not Supported/,
  },
  "a revision": {
    path: "/apis/apps/v1/ns/controllerrevisions",
    object: { revision: lowest },
    want: /revision: Invalid value: -9223372036854775808: must be greater than or equal to 0/,
  },
  "a token of a driver": {
    path: "/apis/storage.k8s.io/v1/csidrivers",
    object: { spec: { tokenRequests: [{ audience: "a", expirationSeconds: huge }] } },
    want: /9223372036854775807: may not specify a duration larger than 2\^32 seconds/,
  },
  "parameters of a device": {
    path: "/apis/resource.k8s.io/v1/ns/resourceclaims",
    object: claimOf({ serial: huge }),
    want: undefined,
  },
};

for (const [name, { path, object, want }] of Object.entries(hugeIntegers)) {
  test(`an integer beyond 2^53: ${name}`, async () => {
    const body = { metadata: { name: "huge" }, ...object };
    const response = await server.send(`${namespaced(path)}?dryRun=All`, { method: "POST", body });
    const { message } = answerValue(response) as JsonObject;
    if (want === undefined) assert.deepEqual([response.code, message], [201, undefined]);
    else assert.match(String(message), want);
  });
}

test("a Pod keeps tolerations and deadlines with integers beyond 2^53", async () => {
  const toleration = { operator: "Exists", effect: "NoExecute", tolerationSeconds: huge };
  const url = namespaced("/api/v1/ns/pods/huge");
  const pod = { metadata: { name: "huge" }, ...podOf({ tolerations: [toleration] }) };
  assert.equal((await server.send(namespaced("/api/v1/ns/pods"), { method: "POST", body: pod })).code, 201);
  const stored = answerValue(await server.send(url, {})) as JsonObject;
  const spec = stored["spec"] as JsonObject;
  const later = { ...stored, spec: { ...spec, tolerations: [{ ...toleration, tolerationSeconds: huge - 1n }] } };
  const response = await server.send(url, { method: "PUT", body: later });
  assert.equal(response.code, 200, String((answerValue(response) as JsonObject)["message"]));
  const { tolerations } = (answerValue(response) as JsonObject)["spec"] as JsonObject;
  assert.deepEqual((tolerations as JsonObject[])[0]?.["tolerationSeconds"], huge - 1n);
});
