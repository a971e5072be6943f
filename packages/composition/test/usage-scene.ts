// SPDX-License-Identifier: Apache-2.0
// An API server that Usages protect on, and the controllers of Usages, for tests of deletions on the embedded server and on others.
import assert from "node:assert/strict";
import { silentLog, systemClock } from "@purlin/base";
import { eventually, startTestServer, type TestServer } from "@purlin/kube-controller/testing";
import { findStatusError, type StatusError } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { conditionOf, conditionsOf, type KubeObject, keyOf, type TypeRef } from "@purlin/kube-objects/object";
import { compositionCrds, keptCrds } from "../src/crds/composition-crds.ts";
import { createUsageGuard } from "../src/usage/definition-guard.ts";
import { createUsageControllers } from "../src/usage/usage-controller.ts";
import { UsageIndex } from "../src/usage/usage-index.ts";
import { find, startTestControl, type TestControl } from "./test-control.ts";

export const usageType: TypeRef = { apiVersion: "protection.crossplane.io/v1beta1", kind: "Usage" };
const clusterUsageType: TypeRef = { apiVersion: "protection.crossplane.io/v1beta1", kind: "ClusterUsage" };
export const legacyType: TypeRef = { apiVersion: "apiextensions.crossplane.io/v1beta1", kind: "Usage" };
export const configMapType: TypeRef = { apiVersion: "v1", kind: "ConfigMap" };
export const namespaceType: TypeRef = { apiVersion: "v1", kind: "Namespace" };

/** What a case works with. */
export class UsageScene implements AsyncDisposable {
  readonly control: TestControl;
  /** Whether the guard is part of the server, so that a Usage protects at once. */
  readonly isEmbedded: boolean;
  readonly index: UsageIndex = new UsageIndex();
  #next = 0;

  private constructor(control: TestControl, isEmbedded: boolean) {
    this.control = control;
    this.isEmbedded = isEmbedded;
  }

  /** Starts the controllers on a server; on the embedded one unless given. */
  static async start(server?: TestServer, { isIdle = false }: { readonly isIdle?: boolean } = {}): Promise<UsageScene> {
    const control = await startTestControl(
      keptCrds(),
      server ??
        (await startTestServer({ guardDelete: createUsageGuard(), crds: [...compositionCrds(), ...keptCrds()] })),
    );
    const scene = new UsageScene(control, server === undefined);
    if (!isIdle) await scene.startControllers();
    return scene;
  }

  async startControllers(): Promise<void> {
    const { client, engine, events } = this.control;
    const deps = { client, engine, events, clock: systemClock, log: silentLog, index: this.index };
    for (const controller of createUsageControllers(deps)) await this.control.run(controller);
  }

  get users(): TestControl["users"] {
    return this.control.users;
  }

  /** A name that no other case has. */
  name(prefix = "x"): string {
    this.#next += 1;
    return `${prefix}-${this.#next}`;
  }

  /** Makes a namespace. */
  async namespace(): Promise<string> {
    const name = this.name("ns");
    await this.users.create({ ...namespaceType, metadata: { name } });
    return name;
  }

  /** Makes a ConfigMap. */
  configMap(namespace: string, name: string, more: Partial<KubeObject["metadata"]> = {}): Promise<KubeObject> {
    return this.users.create({ ...configMapType, metadata: { name, namespace, ...more } });
  }

  /** Makes a Usage in a namespace. */
  usage(namespace: string, spec: JsonObject, more: Partial<KubeObject["metadata"]> = {}): Promise<KubeObject> {
    return this.users.create({ ...usageType, metadata: { name: this.name("u"), namespace, ...more }, spec });
  }

  /** Makes a ClusterUsage, or a legacy Usage. */
  clusterUsage(spec: JsonObject, type: TypeRef = clusterUsageType): Promise<KubeObject> {
    return this.users.create({ ...type, metadata: { name: this.name("cu") }, spec });
  }

  find(object: KubeObject): Promise<KubeObject | undefined> {
    const { apiVersion, kind, metadata } = object;
    return find(this.users, { apiVersion, kind }, metadata.name ?? "", metadata.namespace);
  }

  delete(object: KubeObject, options: Parameters<TestControl["users"]["delete"]>[1] = {}): Promise<unknown> {
    const { apiVersion, kind } = object;
    return this.users.delete({ apiVersion, kind, ...keyOf(object) }, options);
  }

  /** The refusal of a deletion. */
  async denied(object: KubeObject, options: Parameters<TestControl["users"]["delete"]>[1] = {}): Promise<StatusError> {
    try {
      await this.delete(object, options);
    } catch (error) {
      const status = findStatusError(error);
      assert.ok(status, String(error));
      assert.equal(status.code, 409, status.message);
      assert.equal(
        status.message,
        `admission webhook "nousages.protection.crossplane.io" denied the request: ${status.reason}`,
      );
      return status;
    }
    throw new Error(`${object.kind}/${object.metadata.name} was deleted`);
  }

  async gone(object: KubeObject): Promise<void> {
    await eventually(
      `${object.kind}/${object.metadata.name} is gone`,
      async () => (await this.find(object)) === undefined,
    );
  }

  /** Waits for the condition Ready of a Usage. */
  ready(usage: KubeObject, status: "True" | "False" = "True"): Promise<KubeObject> {
    return eventually(`${usage.metadata.name} is Ready=${status}`, async () => {
      const found = await this.find(usage);
      return found !== undefined && conditionOf(conditionsOf(found), "Ready").status === status ? found : undefined;
    });
  }

  /** The message of the condition Ready, once it is False. */
  async unready(usage: KubeObject): Promise<string> {
    const { reason, message = "" } = conditionOf(conditionsOf(await this.ready(usage, "False")), "Ready");
    assert.equal(reason, "Unavailable");
    return message;
  }

  /** Waits for an event about an object, as `Type Reason: message`. */
  event(object: KubeObject, text: string | RegExp): Promise<string> {
    const about = `${object.kind}/${object.metadata.name}`;
    return eventually(`event ${text} about ${about}`, () =>
      this.control.events.all
        .filter((one) => one.object === about)
        .map(({ event }) => `${event.type} ${event.reason}: ${event.message}`)
        .find((one) => (typeof text === "string" ? one === text : text.test(one))),
    );
  }

  /** Waits until an object has the label of used objects, or no longer. */
  async labeled(object: KubeObject, isLabeled = true): Promise<KubeObject> {
    return eventually(`the label of ${object.metadata.name} is ${isLabeled}`, async () => {
      const found = await this.find(object);
      return (found?.metadata.labels?.["crossplane.io/in-use"] === "true") === isLabeled ? found : undefined;
    });
  }

  async edit(object: KubeObject, patch: JsonObject): Promise<KubeObject> {
    const { apiVersion, kind } = object;
    return this.users.patch({ apiVersion, kind, ...keyOf(object) }, patch, { type: "merge" });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.control[Symbol.asyncDispose]();
  }
}

/** A side of a Usage that names a ConfigMap. */
export function refTo(name: string, more: JsonObject = {}, type: TypeRef = configMapType): JsonObject {
  return { apiVersion: type.apiVersion, kind: type.kind, resourceRef: { name, ...more } };
}

/** A side of a Usage that selects ConfigMaps. */
export function selectorOf(resourceSelector: JsonObject, type: TypeRef = configMapType): JsonObject {
  return { apiVersion: type.apiVersion, kind: type.kind, resourceSelector };
}
