// SPDX-License-Identifier: Apache-2.0
// An API server with one kind of managed resources, an external system in memory, and reconciles one by one.

import { silentLog } from "@purlin/base";
import { type ManualClock, manualClock } from "@purlin/base/testing";
import { createInformerPool, createKubeClient, type KubeClient, type KubeTransport } from "@purlin/kube-client";
import {
  createControllerClient,
  createReconciler,
  type EventRecorder,
  free,
  object,
  type ReconcileResult,
  text,
} from "@purlin/kube-controller";
import { recordRequests, startTestServer } from "@purlin/kube-controller/testing";
import { type JsonObject, jsonEqual } from "@purlin/kube-objects/json";
import { conditionOf, conditionsOf, type KubeObject } from "@purlin/kube-objects/object";
import {
  defineManagedResource,
  type ManagedHandler,
  type ManagedResource,
  managedResourceCrd,
} from "../src/managed-resource.ts";
import { managedReconciler } from "../src/reconcile.ts";

/** The kind of the tests: its external resources are entries of a Map. */
export const thing = { apiVersion: "things.example.org/v1", kind: "Thing" } as const;
export const clusterThing = { apiVersion: "things.example.org/v1", kind: "ClusterThing" } as const;

/** What tests look at. */
export interface ManagedScene extends AsyncDisposable {
  readonly kube: KubeClient;
  readonly clock: ManualClock;
  /** The external resources by external name. */
  readonly external: Map<string, JsonObject>;
  /** Errors that the next calls of a method throw. */
  readonly faults: Partial<Record<keyof ManagedHandler, () => Error>>;
  /** The calls of the external system since the last look, such as `create a`. */
  takeCalls(): string[];
  /** Events since the last look, as `Type Reason: message`. */
  takeEvents(): string[];
  /** Writes since the last look, as `METHOD path`. */
  takeWrites(): string[];
  reconcile(object: KubeObject, more?: Partial<ManagedResource>): Promise<ReconcileResult>;
  get(object: KubeObject): Promise<KubeObject>;
}

/** Starts one; dispose of it in the end. `around` changes how the provider reaches the API server. */
export async function startManagedScene(
  around: (transport: KubeTransport) => KubeTransport = (transport) => transport,
): Promise<ManagedScene> {
  const external = new Map<string, JsonObject>();
  const calls: string[] = [];
  const faults: ManagedScene["faults"] = {};
  const resources = [thing, clusterThing].map((type) => thingResource(type, { external, calls, faults }));
  const server = await startTestServer({ crds: resources.map(managedResourceCrd) });
  const { transport, takeWrites } = recordRequests(around(server.connect()));
  const kube = createKubeClient(transport);
  const users = createKubeClient(server.connect());
  const informers = createInformerPool(kube);
  const secret = { apiVersion: "v1", kind: "Secret" };
  const client = createControllerClient({ client: kube, informers, uncached: [thing, clusterThing, secret] });
  const clock = manualClock();
  const events: string[] = [];
  const recorder: EventRecorder = {
    event: (_, { type, reason, message }) => void events.push(`${type} ${reason}: ${message}`),
    with: () => recorder,
  };
  return {
    kube: users,
    clock,
    external,
    faults,
    takeCalls: () => calls.splice(0),
    takeEvents: () => events.splice(0),
    takeWrites,
    reconcile({ kind, metadata }, more = {}) {
      const resource = { ...resources[kind === thing.kind ? 0 : 1], ...more } as ManagedResource;
      const deps = { client, events: recorder, clock, log: silentLog, jitter: () => 0.5 };
      const { namespace, name = "" } = metadata;
      const key = { name, ...(namespace !== undefined && { namespace }) };
      return createReconciler(managedReconciler(resource, deps))(key, new AbortController().signal);
    },
    get: ({ apiVersion, kind, metadata: { name = "", namespace } }) =>
      users.get({ apiVersion, kind }, { name, ...(namespace !== undefined && { namespace }) }),
    async [Symbol.asyncDispose]() {
      await client.close();
      await informers.stop();
      await kube.close();
      await users.close();
      await server.stop();
    },
  };
}

interface ExternalSystem {
  readonly external: Map<string, JsonObject>;
  readonly calls: string[];
  readonly faults: ManagedScene["faults"];
}

function thingResource(
  type: typeof thing | typeof clusterThing,
  { external, calls, faults }: ExternalSystem,
): ManagedResource {
  const call = (method: keyof ManagedHandler, name: string): void => {
    calls.push(`${method} ${name}`.trim());
    const fault = faults[method];
    if (fault !== undefined) throw fault();
  };
  return defineManagedResource({
    type,
    plural: `${type.kind.toLowerCase()}s`,
    scope: type === thing ? "Namespaced" : "Cluster",
    forProvider: object({ size: text, color: text, parent: text, any: free }),
    atProvider: object({ size: text }),
    references: [{ field: "parent", to: type }],
    async observe({ externalName, forProvider }) {
      call("observe", externalName);
      const found = external.get(externalName);
      if (found === undefined) return { exists: false };
      const { size = null, color, ready = true } = found;
      return {
        exists: true,
        upToDate: jsonEqual(size, forProvider["size"] ?? null),
        ready: ready === true,
        ...(ready !== true && { message: "it is starting" }),
        atProvider: { size },
        ...(color !== undefined && { lateInit: { color } }),
        connectionDetails: { host: `${externalName}.example.org` },
      };
    },
    async create({ externalName, forProvider, object: { metadata } }) {
      const name = externalName || `assigned-${metadata.name}`;
      call("create", name);
      external.set(name, { size: forProvider["size"] ?? null });
      return { externalName: name, connectionDetails: { password: "secret" } };
    },
    async update({ externalName, forProvider }) {
      call("update", externalName);
      external.set(externalName, { ...external.get(externalName), size: forProvider["size"] ?? null });
      return { connectionDetails: { rotated: "yes" } };
    },
    async delete({ externalName }) {
      call("delete", externalName);
      if (external.get(externalName)?.["slow"] !== true) external.delete(externalName);
    },
  });
}

/** A condition as `Status Reason: message`. */
export function conditionText(managed: KubeObject, type: string): string {
  const { status, reason, message } = conditionOf(conditionsOf(managed), type);
  return `${status} ${reason}${message ? `: ${message}` : ""}`.trim();
}
