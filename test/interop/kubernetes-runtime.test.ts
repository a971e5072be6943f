// SPDX-License-Identifier: Apache-2.0
// Packages in Deployments: what the runtime applies is stored as it was meant, by kube-apiserver and by ours alike, and is
// not written again. The suite plays the Deployment controller.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { openClusterPackages, startControlPlane } from "@purlin/control-plane";
import { mastersGroup, startApiServer } from "@purlin/kube-apiserver";
import { builtinKinds } from "@purlin/kube-builtin";
import {
  accessFromKubeconfig,
  createDirectTransport,
  createHttpsTransport,
  createKubeClient,
  type KubeClient,
  type Kubeconfig,
  type KubeTransport,
} from "@purlin/kube-client";
import type { KubeObject } from "@purlin/kube-objects/object";
import {
  buildImage,
  createRegistryClient,
  type Registry as ImageRegistry,
  openContentStore,
  parseReference,
  pushPackage,
  startRegistry,
} from "@purlin/oci";
import { Registry } from "prom-client";
import { startRealCluster } from "../../tools/peers/real-cluster.ts";

const namespace = "crossplane-system";
const manager = "pkg.crossplane.io/runtime";
const deployments = { apiVersion: "apps/v1", kind: "Deployment" };
const kinds = [
  deployments,
  { apiVersion: "v1", kind: "Service" },
  { apiVersion: "v1", kind: "ServiceAccount" },
  { apiVersion: "v1", kind: "Secret" },
];
const names = { Function: ["plain", "shaped"], Provider: ["provider", "provider-shaped"] } as const;
const patienceMs = 120_000;

let directory: string;
let registry: ImageRegistry;
before(async () => {
  directory = mkdtempSync(join(tmpdir(), "kubernetes-runtime-"));
  registry = await startRegistry({ directory: join(directory, "registry") });
  const store = await openContentStore(join(directory, "build"));
  const process = { entrypoint: ["/run"], cmd: [], env: [], workingDir: "/", user: "2000" };
  const platform = { os: "linux", architecture: "amd64" };
  for (const kind of ["Function", "Provider"] as const) {
    const packageYaml = `apiVersion: meta.pkg.crossplane.io/v1\nkind: ${kind}\nmetadata: {name: x}\n`;
    const image = await buildImage(store, { platform, process, base: [], layers: [], packageYaml });
    for (const name of names[kind]) {
      const to = parseReference(`${registry.address}/acme/${name}:v1`);
      await pushPackage(createRegistryClient(), store, { images: [image], to });
    }
  }
});
after(async () => {
  await registry.close();
  rmSync(directory, { recursive: true, force: true });
});

/** Everything a template may say, some of it in words a server changes. */
const rich: KubeObject = {
  apiVersion: "pkg.crossplane.io/v1beta1",
  kind: "DeploymentRuntimeConfig",
  metadata: { name: "rich" },
  spec: {
    deploymentTemplate: {
      metadata: { labels: { team: "blue" }, annotations: { note: "deployment" } },
      spec: {
        replicas: 2,
        selector: {},
        strategy: { type: "RollingUpdate", rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
        template: {
          metadata: { labels: { team: "blue" }, annotations: { note: "pod" } },
          spec: {
            nodeSelector: { disk: "ssd" },
            tolerations: [{ key: "dedicated", operator: "Exists", effect: "NoSchedule" }],
            containers: [
              { name: "sidecar", image: "registry.example.org/sidecar:v1", ports: [{ containerPort: 9000 }] },
              {
                name: "package-runtime",
                args: ["--debug"],
                env: [{ name: "LEVEL", value: "5" }],
                ports: [{ name: "extra", containerPort: 9100 }],
                resources: { requests: { cpu: "1000m", memory: "1024Mi" }, limits: { memory: "2Gi" } },
                volumeMounts: [{ name: "scratch", mountPath: "/scratch" }],
              },
            ],
            volumes: [{ name: "scratch", emptyDir: { sizeLimit: "1024Mi" } }],
          },
        },
      },
    },
    serviceTemplate: { metadata: { labels: { team: "blue" }, annotations: { note: "service" } } },
    serviceAccountTemplate: { metadata: { labels: { team: "blue" }, annotations: { note: "account" } } },
  },
} as KubeObject;

interface Server {
  connect(): Promise<KubeTransport>;
  stop(): Promise<void>;
}

async function embedded(): Promise<Server> {
  const server = await startApiServer({ kinds: builtinKinds, directory: join(directory, "api") });
  const admin = { name: "admin", groups: [mastersGroup] };
  return {
    connect: async () => createDirectTransport(server.handle, admin, "crossplane"),
    stop: () => server.close(),
  };
}

async function real(): Promise<Server> {
  const cluster = await startRealCluster();
  const file = cluster.kubeconfig;
  const access = await accessFromKubeconfig(JSON.parse(readFileSync(file, "utf8")) as Kubeconfig, { file, env: {} });
  return {
    connect: async () => createHttpsTransport(access, { userAgent: "crossplane" }),
    stop: () => cluster.stop(),
  };
}

/** Installs packages of each kind, lets them come up, and answers with what was applied for them. */
async function applied(server: Server, cache: string): Promise<Record<string, unknown>> {
  await using stack = new AsyncDisposableStack();
  stack.defer(() => server.stop());
  const users = createKubeClient(await server.connect());
  stack.defer(() => users.close());
  const writes: string[] = [];
  const transport = await server.connect();
  const client = createKubeClient({
    ...transport,
    request(request) {
      const isEventOrLease = /\/(events|leases)(\/|$)/.test(request.path);
      if (request.method !== "GET" && !isEventOrLease) writes.push(`${request.method} ${request.path}`);
      return transport.request(request);
    },
  });
  stack.defer(() => client.close());
  const packages = await openClusterPackages({
    directory: join(directory, cache),
    functionRevisionSelectors: true,
    lingerMs: 0,
  });
  const metrics = new Registry();
  const functions = { security: packages.security };
  const settings = { functionRevisionSelectors: true };
  const plane = startControlPlane({ client, packages, functions, settings, registry: metrics });
  stack.use(plane);
  await plane.ready;
  const force = { fieldManager: "user", force: true };
  await users.apply(rich, force);
  await users.create({
    ...kinds[3],
    metadata: { name: "pull", namespace },
    type: "kubernetes.io/dockerconfigjson",
    data: { ".dockerconfigjson": Buffer.from('{"auths":{}}').toString("base64") },
  } as KubeObject);
  const install = (kind: string, name: string, spec: object = {}): Promise<KubeObject> =>
    users.apply(
      {
        apiVersion: "pkg.crossplane.io/v1",
        kind,
        metadata: { name },
        spec: { package: `${registry.address}/acme/${name}:v1`, ...spec },
      } as KubeObject,
      force,
    );
  const shaped = { runtimeConfigRef: { name: "rich" }, packagePullSecrets: [{ name: "pull" }] };
  const wanted = [
    await install("Function", "plain"),
    await install("Function", "shaped", shaped),
    await install("Provider", "provider"),
    await install("Provider", "provider-shaped", { ...shaped, packagePullPolicy: "Always" }),
  ];
  for (const owner of wanted) {
    await until(`${owner.metadata.name} is healthy`, async () => {
      await playDeploymentController(users);
      const { status } = (await users.get(owner, { name: owner.metadata.name ?? "" })) as {
        status?: { conditions?: { type: string; status: string }[] };
      };
      return status?.conditions?.some(({ type, status: state }) => type === "Healthy" && state === "True");
    });
  }
  await quiet(users, writes, metrics);
  // Awaited: what it asks is closed when this returns.
  return await storedObjects(users);
}

/** Says of every Deployment that all its Pods are ready. */
async function playDeploymentController(users: KubeClient): Promise<void> {
  const { items } = await users.list(deployments, { namespace });
  for (const one of items) {
    const deployment = { ...deployments, ...one } as KubeObject;
    const { generation: observedGeneration } = deployment.metadata;
    const status = deployment["status"] as { observedGeneration?: number } | undefined;
    if (status?.observedGeneration === observedGeneration) continue;
    const { replicas } = deployment["spec"] as { replicas: number };
    const counts = { replicas, updatedReplicas: replicas, readyReplicas: replicas, availableReplicas: replicas };
    const conditions = [{ type: "Available", status: "True", reason: "MinimumReplicasAvailable", message: "" }];
    const updated = { ...deployment, status: { observedGeneration, ...counts, conditions } };
    await users.update(updated as KubeObject, { subresource: "status" });
  }
}

/** Every revision is looked at again, and nothing is written. */
async function quiet(users: KubeClient, writes: string[], metrics: Registry): Promise<void> {
  const looks = async (): Promise<number> => {
    const all = await metrics.getMetricsAsJSON();
    const passes = all.find(({ name }) => name === "controller_runtime_reconcile_total")?.values ?? [];
    return passes.reduce(
      (sum, { labels, value }) => sum + (String(labels["controller"]).startsWith("runtime/") ? value : 0),
      0,
    );
  };
  await until("nothing happens", async () => {
    writes.splice(0);
    // Longer than what failed once waits before it is tried again.
    await delay(3_000);
    return writes.length === 0;
  });
  const before = await looks();
  const revisions = await Promise.all(
    ["FunctionRevision", "ProviderRevision"].map(async (kind) => {
      const type = { apiVersion: "pkg.crossplane.io/v1", kind };
      const { items } = await users.list(type);
      return items.map(({ metadata }) => ({ ...type, name: metadata.name ?? "" }));
    }),
  );
  for (const revision of revisions.flat()) {
    await users.patch(revision, { metadata: { annotations: { look: "again" } } }, { type: "merge" });
  }
  await until("every revision was looked at", async () => (await looks()) >= before + 4);
  assert.deepEqual(writes, [], "what is settled is not written again");
}

/** What our manager owns of each object, in the words of the server that stores it; without what differs each time. */
async function storedObjects(users: KubeClient): Promise<Record<string, unknown>> {
  const found: Record<string, unknown> = {};
  for (const type of kinds) {
    const { items } = await users.list(type, { namespace });
    for (const object of items) {
      const entry = object.metadata.managedFields?.find((one) => one.manager === manager && one.operation === "Apply");
      if (entry === undefined) continue;
      const { ownerReferences, labels, annotations } = object.metadata;
      const owners = ownerReferences?.map(({ uid: _, ...rest }) => rest);
      const name = `${type.kind} ${object.metadata.name}`;
      found[name] = { labels, annotations, owners, body: bodyOf(object), fields: withoutUids(entry.fieldsV1) };
    }
  }
  return found;
}

function bodyOf(object: KubeObject): unknown {
  const { metadata: _, status: __, data, ...rest } = object as KubeObject & { data?: object };
  const { clusterIP, clusterIPs, ...spec } = (rest["spec"] ?? {}) as Record<string, unknown>;
  const text = JSON.stringify({
    ...rest,
    spec: { ...spec, isHeadless: clusterIP === "None" },
    data: Object.keys(data ?? {}),
  });
  return JSON.parse(text.replaceAll(/"[0-9a-f]{8}-[0-9a-f-]{27}"/g, '"UID"'));
}

function withoutUids(fields: unknown): unknown {
  return JSON.parse(JSON.stringify(fields).replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}/g, "UID"));
}

async function until(what: string, look: () => Promise<boolean | undefined>): Promise<void> {
  const end = performance.now() + patienceMs;
  let failure: unknown;
  const attempt = (): Promise<boolean | undefined> =>
    look().catch((error: unknown) => {
      failure = error;
      return false;
    });
  while (!(await attempt())) {
    if (performance.now() > end) throw new Error(`waited in vain: ${what}`, { cause: failure });
    await delay(50);
  }
}

test("runtime objects are the same on kube-apiserver and on ours, and settle on both", async () => {
  const theirs = await applied(await real(), "cache-real");
  const stored = Object.keys(theirs);
  assert.equal(stored.filter((name) => name.startsWith("Deployment")).length, 4);
  assert.equal(stored.filter((name) => name.startsWith("Service ")).length, 4);
  assert.equal(stored.filter((name) => name.startsWith("ServiceAccount")).length, 4);
  assert.equal(
    stored.filter((name) => name.startsWith("Secret")).length,
    7,
    "of the control plane, 4 servers, 2 clients",
  );
  assert.deepEqual(await applied(await embedded(), "cache-embedded"), theirs);
});
