// SPDX-License-Identifier: Apache-2.0
// A real control plane on an API server in this process, with one function that fails as its input says.
import { compositionCrds, keptCrds } from "@purlin/composition";
import { startControlPlane } from "@purlin/control-plane";
import {
  nopLogger,
  type RunFunctionRequest,
  type RunFunctionResponse,
  request,
  response,
  start,
} from "@purlin/function-sdk";
import { createKubeClient, type KubeClient } from "@purlin/kube-client";
import { eventually, startTestServer } from "@purlin/kube-controller/testing";
import type { JsonObject } from "@purlin/kube-objects/json";
import { type ConditionText, conditionsOf, type KubeObject, keyOf } from "@purlin/kube-objects/object";
import { packageCrds } from "@purlin/package-manager";

const configMap = { apiVersion: "v1", kind: "ConfigMap" };

let calls = 0;

/** What the function does, by `do` of its input. */
const behaviors: Readonly<Record<string, (rsp: RunFunctionResponse, text: string) => void>> = {
  compose: (rsp) =>
    response.setDesiredComposedResource(rsp, "map", { ...configMap, data: { a: "b" } }, { ready: true }),
  fatal: (rsp) => response.fatal(rsp, "the port is missing"),
  unstable: (rsp) =>
    response.requireResources(rsp, "a", { ...configMap, matchName: `m${calls++}`, namespace: "default" }),
  invalid: (rsp) => response.setDesiredComposedResource(rsp, "map", { ...configMap, data: { "not valid!": "b" } }),
  kind: (rsp) =>
    response.setDesiredComposedResource(rsp, "bucket", { apiVersion: "s3.example.org/v1", kind: "Bucket" }),
  namespace: (rsp) =>
    response.setDesiredComposedResource(rsp, "map", { ...configMap, metadata: { name: "m", namespace: "nowhere" } }),
  name: (rsp) => response.setDesiredComposedResource(rsp, "map", { ...configMap, metadata: { name: "Web_1" } }),
  scope: (rsp) =>
    response.setDesiredComposedResource(rsp, "space", { apiVersion: "v1", kind: "Namespace", metadata: { name: "x" } }),
  same: (rsp) => {
    for (const name of ["one", "two"]) {
      response.setDesiredComposedResource(rsp, name, { ...configMap, metadata: { name: "same" } });
    }
  },
  taken: (rsp) => response.setDesiredComposedResource(rsp, "map", { ...configMap, metadata: { name: "taken" } }),
  status: (rsp) => response.setDesiredCompositeStatus(rsp, { seen: 5 }),
  immutable: (rsp, text) =>
    response.setDesiredComposedResource(rsp, "secret", {
      apiVersion: "v1",
      kind: "Secret",
      type: `example.org/${text}`,
    }),
  unreadable: (rsp) =>
    response.requireResources(rsp, "lost", { apiVersion: "lost.example.org/v1", kind: "Lost", matchName: "lost" }),
  denied: (rsp) =>
    response.setDesiredComposedResource(rsp, "map", { ...configMap, metadata: { labels: { policy: "denied" } } }),
  webhook: (rsp) =>
    response.setDesiredComposedResource(rsp, "map", { ...configMap, metadata: { labels: { policy: "webhook" } } }),
  held: (rsp) =>
    response.setDesiredComposedResource(rsp, "map", { ...configMap, metadata: { finalizers: ["example.org/hold"] } }),
  sequence: (rsp) => {
    response.setDesiredComposedResource(rsp, "files", {
      apiVersion: "example.org/v1",
      kind: "Bucket",
      spec: { forProvider: {} },
    });
    response.normal(rsp, 'Delaying creation of resource(s) matching "cache" because "files" does not exist yet');
  },
  workload: (rsp) => {
    const labels = { app: "workload" };
    const template = {
      metadata: { labels },
      spec: { containers: [{ name: "c", image: "registry.example.org/c:v1" }] },
    };
    const spec = { selector: { matchLabels: labels }, template };
    response.setDesiredComposedResource(
      rsp,
      "web",
      { apiVersion: "apps/v1", kind: "Deployment", spec },
      { ready: false },
    );
  },
  connect: (rsp) => response.setDesiredConnectionDetails(rsp, { password: "open" }),
  waiting: (rsp) =>
    response.setDesiredComposedResource(rsp, "map", { ...configMap, data: { a: "b" } }, { ready: false }),
};

/** The function: it does what its input says. */
export function behave(req: RunFunctionRequest): RunFunctionResponse {
  const rsp = response.to(req);
  const input = request.getInput(req) as { readonly do?: string } | undefined;
  const { resource: xr } = request.getObservedCompositeResource(req);
  const spec = (xr.getObject("spec") ?? {}) as { readonly text?: string };
  behaviors[input?.do ?? "compose"]?.(rsp, spec.text ?? "");
  return rsp;
}

/** A running platform. */
export interface Platform extends AsyncDisposable {
  readonly users: KubeClient;
  apply(...objects: readonly KubeObject[]): Promise<void>;
  /** An object once a condition of it has this status. */
  until(object: KubeObject, type: string, status: string): Promise<KubeObject>;
}

/** Starts API server, function and control plane. */
export async function startPlatform(): Promise<Platform> {
  await using starting = new AsyncDisposableStack();
  const server = await startTestServer();
  starting.defer(() => server.stop());
  const users = createKubeClient(server.connect());
  starting.defer(() => users.close());
  const client = createKubeClient(server.connect("crossplane"));
  starting.defer(() => client.close());
  const fn = await start(behave, { address: "127.0.0.1:0", insecure: true, metricsAddress: "", log: nopLogger });
  starting.defer(() => fn[Symbol.asyncDispose]());
  const settings = { developmentFunctions: true };
  const plane = startControlPlane({ client, functions: { security: "plaintext" }, settings });
  starting.defer(() => plane[Symbol.asyncDispose]());
  await plane.ready;
  const closing = starting.move();
  const platform: Platform = {
    users,
    async apply(...objects) {
      for (const object of objects) {
        await eventually(`${object.kind} is accepted`, () =>
          users.apply(object, { fieldManager: "test", force: true }),
        );
      }
    },
    until: (object, type, status) =>
      eventually(`${object.kind} ${object.metadata.name ?? ""} has ${type}=${status}`, async () => {
        const found = await users.get(object, keyOf(object));
        return conditionsOf(found).some((one) => one.type === type && one.status === status) && found;
      }),
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
  await platform.apply(developmentFunction("fn", fn.address));
  return platform;
}

/** A Function that another program serves. */
function developmentFunction(name: string, address: string): KubeObject {
  const annotations = {
    "render.crossplane.io/runtime": "Development",
    "render.crossplane.io/runtime-development-target": address,
  };
  const spec = { package: `registry.example.org/${name}:v1` };
  return { apiVersion: "pkg.crossplane.io/v1", kind: "Function", metadata: { name, annotations }, spec };
}

/** An XRD of one kind; with claims when it is cluster-scoped. */
export function definitionOf(
  kind: string,
  { scope = "Namespaced", claim }: { readonly scope?: string; readonly claim?: string } = {},
): KubeObject {
  const plural = `${kind.toLowerCase()}s`;
  const isLegacy = claim !== undefined;
  return {
    apiVersion: `apiextensions.crossplane.io/${isLegacy ? "v1" : "v2"}`,
    kind: "CompositeResourceDefinition",
    metadata: { name: `${plural}.example.org` },
    spec: {
      group: "example.org",
      ...(isLegacy ? { claimNames: { kind: claim, plural: `${claim.toLowerCase()}s` } } : { scope }),
      names: { kind, plural },
      versions: [{ name: "v1", served: true, referenceable: true, schema: { openAPIV3Schema: schema } }],
    },
  };
}

const schema: JsonObject = {
  type: "object",
  properties: {
    spec: { type: "object", properties: { text: { type: "string" } } },
    status: { type: "object", properties: { seen: { type: "string" } } },
  },
};

/** A Composition of one step. */
export function compositionOf(name: string, kind: string, step: JsonObject): KubeObject {
  return {
    apiVersion: "apiextensions.crossplane.io/v1",
    kind: "Composition",
    metadata: { name },
    spec: {
      compositeTypeRef: { apiVersion: "example.org/v1", kind },
      mode: "Pipeline",
      pipeline: [{ step: "render", functionRef: { name: "fn" }, ...step }],
    },
  };
}

/** The input of a step that makes the function behave in one way. */
export function doing(behavior: string): JsonObject {
  return { input: { apiVersion: "test.example.org/v1", kind: "Input", do: behavior } };
}

// An API server in this process, with the kinds of Crossplane and no controllers: objects stay as a test writes them.

/** An API server with objects. */
export interface StaticCluster extends AsyncDisposable {
  readonly client: KubeClient;
  /** Creates objects with their status. */
  put(...objects: readonly KubeObject[]): Promise<void>;
}

/** Starts one. */
export async function startStaticCluster(): Promise<StaticCluster> {
  const server = await startTestServer();
  const client = createKubeClient(server.connect());
  const cluster: StaticCluster = {
    client,
    async put(...objects) {
      for (const { status, ...object } of objects) {
        const stored = await eventually(`${object.kind} is accepted`, () =>
          client.apply(object as KubeObject, { fieldManager: "test", force: true }),
        );
        if (status !== undefined) await client.update({ ...stored, status }, { subresource: "status" });
      }
    },
    async [Symbol.asyncDispose]() {
      await client.close();
      await server.stop();
    },
  };
  const packages = packageCrds({ functionRevisionSelectors: true } as Parameters<typeof packageCrds>[0]);
  const kinds = [
    crdOf("App", "apps"),
    crdOf("XShop", "xshops", "Cluster"),
    crdOf("Shop", "shops"),
    crdOf("Bucket", "buckets"),
  ];
  await cluster.put(...compositionCrds(), ...keptCrds(), ...packages, ...kinds);
  await cluster.put(established(definitionOf("App")), established(definitionOf("XShop", { claim: "Shop" })));
  return cluster;
}

/** A CRD of any content. */
export function crdOf(kind: string, plural: string, scope = "Namespaced"): KubeObject {
  const open = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
  const schema = { openAPIV3Schema: { type: "object", properties: { spec: open, status: open } } };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.example.org` },
    spec: {
      group: "example.org",
      scope,
      names: { kind, plural },
      versions: [{ name: "v1", served: true, storage: true, subresources: { status: {} }, schema }],
    },
  };
}

/** An XRD that is in use. */
export function established(definition: KubeObject): KubeObject {
  return withStatus(definition, [
    { type: "Established", status: "True", reason: "WatchingCompositeResource" },
    ...(definition.apiVersion.endsWith("/v1")
      ? [{ type: "Offered", status: "True", reason: "WatchingCompositeResourceClaim" } as const]
      : []),
  ]);
}

/** A condition without its time. */
export type ConditionInput = ConditionText & { readonly observedGeneration?: number };

/** An object with conditions, and other members of its status. */
export function withStatus(
  object: KubeObject,
  conditions: readonly ConditionInput[],
  more: JsonObject = {},
): KubeObject {
  const lastTransitionTime = new Date().toISOString().replace(/\.\d+Z$/, "Z");
  return { ...object, status: { ...more, conditions: conditions.map((one) => ({ ...one, lastTransitionTime })) } };
}

/** A composite resource. */
export function app(name: string, spec: JsonObject = {}, metadata: JsonObject = {}): KubeObject {
  return { apiVersion: "example.org/v1", kind: "App", metadata: { name, namespace: "default", ...metadata }, spec };
}

/** A condition Synced that failed. */
export function failed(message: string): ConditionInput {
  return { type: "Synced", status: "False", reason: "ReconcileError", message };
}

/** The conditions of an object that is composed and ready. */
export const ready: readonly ConditionInput[] = [
  { type: "Synced", status: "True", reason: "ReconcileSuccess" },
  { type: "Ready", status: "True", reason: "Available" },
];

/** The conditions of an object that is composed and not ready. */
export function creating(message?: string): readonly ConditionInput[] {
  return [
    { type: "Synced", status: "True", reason: "ReconcileSuccess" },
    { type: "Ready", status: "False", reason: "Creating", ...(message === undefined ? {} : { message }) },
  ];
}

/** The stored version of an object. */
export function stored(cluster: StaticCluster, object: KubeObject): Promise<KubeObject> {
  return cluster.client.get(object, keyOf(object));
}

/** A condition that is not met. */
export function unmetCondition(type: string, reason: string, message: string): ConditionInput {
  return { type, status: "False", reason, message };
}

/** A condition that is met. */
export function met(type: string): ConditionInput {
  return { type, status: "True", reason: "Fine" };
}
