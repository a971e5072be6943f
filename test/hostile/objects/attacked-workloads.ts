// SPDX-License-Identifier: Apache-2.0
// A server with simulated workloads under attack: an attack ends when the simulator has nothing left to do.
import assert from "node:assert/strict";
import { setTimeout as delay } from "node:timers/promises";
import type { JsonObject } from "@purlin/kube-objects/json";
import { type AttackedServer, startAttackedServer } from "../harness/server.ts";
import { sendJson } from "./attacked-kind.ts";

export interface AttackedWorkloads extends AsyncDisposable {
  readonly server: AttackedServer;
  /** Creates objects one after the other, each of which must be accepted unless it says otherwise. */
  create(...objects: readonly JsonObject[]): Promise<void>;
  get(object: JsonObject): Promise<JsonObject>;
  /** Runs an attack and waits until the simulator is idle; then deletes the objects, and waits again. */
  attack(what: string, objects: readonly JsonObject[], then?: () => Promise<void>): Promise<void>;
  /** Waits until the server is idle. */
  settled(): Promise<void>;
}

const roots: Readonly<Record<string, string>> = {
  Pod: "/api/v1/namespaces/default/pods",
  Service: "/api/v1/namespaces/default/services",
  ConfigMap: "/api/v1/namespaces/default/configmaps",
  ReplicationController: "/api/v1/namespaces/default/replicationcontrollers",
  PersistentVolumeClaim: "/api/v1/namespaces/default/persistentvolumeclaims",
  Deployment: "/apis/apps/v1/namespaces/default/deployments",
  ReplicaSet: "/apis/apps/v1/namespaces/default/replicasets",
  StatefulSet: "/apis/apps/v1/namespaces/default/statefulsets",
  DaemonSet: "/apis/apps/v1/namespaces/default/daemonsets",
  Job: "/apis/batch/v1/namespaces/default/jobs",
  CronJob: "/apis/batch/v1/namespaces/default/cronjobs",
  PodDisruptionBudget: "/apis/policy/v1/namespaces/default/poddisruptionbudgets",
  HorizontalPodAutoscaler: "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers",
  Ingress: "/apis/networking.k8s.io/v1/namespaces/default/ingresses",
  Simulation: "/apis/simulation.purlin.dev/v1alpha1/simulations",
};

export const pathOf = (object: JsonObject): string => roots[String(object["kind"])] ?? "";
const nameOf = (object: JsonObject): string => String((object["metadata"] as JsonObject)["name"]);

/** How long the simulator may work on an attack. */
const patienceMs = 60_000;
const lookMs = 300;

export async function startAttackedWorkloads(): Promise<AttackedWorkloads> {
  const server = await startAttackedServer({ args: ["--workloads=simulate"] });
  const { target } = server;

  async function create(...objects: readonly JsonObject[]): Promise<void> {
    for (const object of objects) {
      const { code, text } = await sendJson(target, ["POST", pathOf(object)], object);
      assert.equal(code, 201, `${String(object["kind"])}: ${text.slice(0, 500)}`);
    }
  }

  async function remove(object: JsonObject): Promise<void> {
    const options = { gracePeriodSeconds: 0, propagationPolicy: "Background" };
    await sendJson(target, ["DELETE", `${pathOf(object)}/${nameOf(object)}`], options);
  }

  async function settled(): Promise<void> {
    const deadline = Date.now() + patienceMs;
    for (let quiet = 0; quiet < 2; ) {
      const before = server.process.cpuMs();
      await delay(lookMs);
      quiet = server.process.cpuMs() - before < lookMs * 0.35 ? quiet + 1 : 0;
      assert.ok(Date.now() < deadline, `the server is busy for more than ${patienceMs} ms`);
    }
  }

  return {
    server,
    create,
    settled,
    async get(object) {
      return (await sendJson(target, ["GET", `${pathOf(object)}/${nameOf(object)}`])).body as JsonObject;
    },
    async attack(what, objects, then) {
      try {
        await server.during(what, async () => {
          await create(...objects);
          await settled();
          await then?.();
        });
      } finally {
        await server.during(`${what}, deleted`, async () => {
          for (const object of objects) await remove(object);
          await settled();
        });
      }
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}
