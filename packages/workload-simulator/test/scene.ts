// SPDX-License-Identifier: Apache-2.0
import { type Clock, silentLog, systemClock } from "@purlin/base";
import { createKubeClient, type KubeClient } from "@purlin/kube-client";
import { eventually, recordRequests, startTestServer } from "@purlin/kube-controller/testing";
import type { JsonObject } from "@purlin/kube-objects/json";
import { type KubeObject, stringAt, type TypeRef } from "@purlin/kube-objects/object";
import { simulatorRules } from "../src/kinds.ts";
import { startWorkloadSimulator } from "../src/start-simulator.ts";

/** An API server with simulated workloads, for one test. */
interface Scene extends AsyncDisposable {
  readonly client: KubeClient;
  /** The writes of the simulator since the last call. */
  takeWrites(): string[];
  create(type: TypeRef, name: string, fields: JsonObject): Promise<KubeObject>;
  get(type: TypeRef, name: string): Promise<KubeObject>;
  list(type: TypeRef): Promise<readonly KubeObject[]>;
  /** Waits until an object is as wanted. */
  until(type: TypeRef, name: string, isWanted: (object: KubeObject) => boolean): Promise<KubeObject>;
  /** Changes an object by a merge patch. */
  patch(type: TypeRef, name: string, patch: JsonObject): Promise<KubeObject>;
  /** The reasons of the events about an object, in their order. */
  reasons(object: KubeObject): Promise<readonly string[]>;
}

const namespace = "default";

const rbac = "rbac.authorization.k8s.io";
const simulatorUser = { name: "simulator", groups: ["system:authenticated"] };

/** The simulator has the rights that it has outside of tests, and no others. */
async function grantRights(client: KubeClient): Promise<void> {
  const { name } = simulatorUser;
  await client.create({ apiVersion: `${rbac}/v1`, kind: "ClusterRole", metadata: { name }, rules: simulatorRules });
  await client.create({
    apiVersion: `${rbac}/v1`,
    kind: "ClusterRoleBinding",
    metadata: { name },
    roleRef: { apiGroup: rbac, kind: "ClusterRole", name },
    subjects: [{ apiGroup: rbac, kind: "User", name }],
  });
}

/** Starts a server and the simulator. */
export async function startScene(clock: Clock = systemClock): Promise<Scene> {
  const server = await startTestServer();
  const client = createKubeClient(server.connect());
  await grantRights(client);
  const { transport, takeWrites } = recordRequests(server.connect(undefined, simulatorUser));
  const simulated = createKubeClient(transport);
  const simulator = await startWorkloadSimulator({ client: simulated, log: silentLog, clock });
  const get = (type: TypeRef, name: string): Promise<KubeObject> => client.get(type, { name, namespace });
  const list = async (type: TypeRef): Promise<readonly KubeObject[]> => (await client.list(type, { namespace })).items;
  return {
    client,
    takeWrites,
    get,
    list,
    create: (type, name, fields) => client.create({ ...type, metadata: { name, namespace }, ...fields } as KubeObject),
    patch: (type, name, patch) => client.patch({ ...type, name, namespace }, patch, { type: "merge" }),
    until: (type, name, isWanted) =>
      eventually(`${type.kind} ${name}`, async () => {
        const object = await get(type, name);
        return isWanted(object) ? object : undefined;
      }),
    async reasons({ metadata }) {
      const events = await list({ apiVersion: "v1", kind: "Event" });
      const own = events.filter((event) => stringAt(event, ["involvedObject", "uid"]) === metadata.uid);
      return own.map((event) => stringAt(event, ["reason"]));
    },
    async [Symbol.asyncDispose]() {
      await simulator[Symbol.asyncDispose]();
      await simulated.close();
      await client.close();
      await server.stop();
    },
  };
}

/** A clock for the simulator on which time passes faster, from now on. */
export function fastClock(speed: number): Clock {
  const start = Date.now();
  return {
    now: () => start + (Date.now() - start) * speed,
    schedule: (delayMs, task) => systemClock.schedule(delayMs / speed, task),
  };
}

/** The spec of a workload of Pods with one container. */
export function workloadSpec(fields: JsonObject = {}, annotations: Readonly<Record<string, string>> = {}): JsonObject {
  const labels = { app: "web" };
  const template = { metadata: { labels, annotations }, spec: { containers: [{ name: "main", image: "nginx:1" }] } };
  return { selector: { matchLabels: labels }, template, ...fields };
}
