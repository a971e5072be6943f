// SPDX-License-Identifier: Apache-2.0
// An API server that Usages protect on, and the controllers of Usages, for tests of deletions on the embedded server and on others.
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { silentLog, systemClock } from "@purlin/base";
import { crdType } from "@purlin/kube-controller";
import { eventually, startTestServer, type TestServer } from "@purlin/kube-controller/testing";
import { findStatusError, type StatusError, textOf } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import {
  annotationOf,
  conditionOf,
  conditionsOf,
  type KubeObject,
  keyOf,
  type OwnerReference,
  type TypeRef,
} from "@purlin/kube-objects/object";
import { compositionCrds, keptCrds } from "../src/crds/composition-crds.ts";
import { managedDefinitionType } from "../src/managed/definition-controller.ts";
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

/** One behavior. */
export interface UsageCase {
  readonly title: string;
  /** No other case may run meanwhile. */
  readonly isAlone?: true;
  readonly run: (scene: UsageScene) => Promise<void>;
}

export const attempt: string = "usage.crossplane.io/deletion-attempt-with-policy";
export const composite: Readonly<Record<string, string>> = { "crossplane.io/composite": "xr" };

export function attemptOn(object: KubeObject | undefined): string | undefined {
  return object && annotationOf(object, attempt);
}

export async function refused(promise: Promise<unknown>, text: string): Promise<void> {
  await assert.rejects(promise, (error: unknown) => textOf(error).includes(text) || assert.fail(textOf(error)));
}

// Deletions of managed resource definitions, on an API server that a guard or a webhook protects.

let made = 0;

interface Definition {
  readonly name: string;
  readonly labels: JsonObject;
  /** An object of the kind. */
  readonly one: KubeObject;
}

/** Makes a definition whose CRD has it as an owner, beside others, and one object. */
async function define(
  { users }: UsageScene,
  { owners = [], isOwned = true }: { readonly owners?: readonly OwnerReference[]; readonly isOwned?: boolean } = {},
): Promise<Definition> {
  const plural = `kegs${++made}`;
  const [name, kind] = [`${plural}.guarded.example.org`, `Keg${made}`];
  const labels = { made: String(made) };
  const schema = { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } };
  const spec = {
    group: "guarded.example.org",
    names: { plural, singular: kind.toLowerCase(), kind, listKind: `${kind}List` },
    scope: "Cluster",
    versions: [{ name: "v1", served: true, storage: true, schema }],
  };
  const mrd = await users.create({
    ...managedDefinitionType,
    metadata: { name, labels },
    spec: { ...spec, state: "Active" },
  } as KubeObject);
  const own = { ...managedDefinitionType, name, uid: mrd.metadata.uid ?? "" };
  const ownerReferences = [...(isOwned ? [own] : []), ...owners];
  await users.create({ ...crdType, metadata: { name, ownerReferences }, spec } as KubeObject);
  const one = { apiVersion: "guarded.example.org/v1", kind, metadata: { name: "one" } };
  await eventually(`${kind} is served`, () => users.create(one).then(() => true));
  return { name, labels, one };
}

/** Tests the guard of managed resource definitions. */
export function testDefinitionGuard(title: string, scene: () => UsageScene): void {
  const exists = async (name: string): Promise<boolean> =>
    (await scene().users.list(managedDefinitionType)).items.some(({ metadata }) => metadata.name === name);
  const remove = (name: string, options: JsonObject = {}): Promise<unknown> =>
    scene().users.delete({ ...managedDefinitionType, name }, options);

  suite(title, () => {
    test("a definition with objects is not deleted, by no propagation that takes the CRD along, and not in a dry run", async () => {
      const { name, one } = await define(scene());
      const text = `This would delete 1 object of ${one.kind}.guarded.example.org. Delete them first, or set the annotation purlin.dev/allow-data-loss: "true" on the ManagedResourceDefinition.`;
      for (const options of [{}, { propagationPolicy: "Foreground" }, { dryRun: true }]) {
        const error = await remove(name, options as JsonObject).then(() => undefined, findStatusError);
        assert.deepEqual(
          [error?.code, error?.status.reason, error?.message],
          [409, text, `admission webhook "nodataloss.purlin.dev" denied the request: ${text}`],
        );
      }
      assert.ok(await exists(name));
      assert.equal((await scene().users.get(one, { name: "one" })).metadata.deletionTimestamp, undefined);
    });

    test("without objects it is deleted", async () => {
      const { name, one } = await define(scene());
      await scene().users.delete({ ...one, name: "one" });
      await remove(name);
      assert.equal(await exists(name), false);
    });

    test("the annotation accepts the loss", async () => {
      const { name } = await define(scene());
      const annotations = { "purlin.dev/allow-data-loss": "true" };
      await scene().users.patch({ ...managedDefinitionType, name }, { metadata: { annotations } }, { type: "merge" });
      await remove(name);
      assert.equal(await exists(name), false);
    });

    test("a CRD that stays keeps its objects: orphaned, with another owner, or not owned by the definition", async () => {
      const owner = { apiVersion: "pkg.crossplane.io/v1", kind: "ProviderRevision", name: "p-1", uid: "u-1" };
      const orphaned = await define(scene());
      await remove(orphaned.name, { propagationPolicy: "Orphan" });
      for (const options of [{ owners: [owner] }, { isOwned: false }]) {
        const { name } = await define(scene(), options);
        await remove(name);
        assert.equal(await exists(name), false);
      }
    });

    test("one with objects stays when a collection is deleted", async () => {
      const { users } = scene();
      const refused = await define(scene());
      const labelSelector = `made=${refused.labels["made"]}`;
      const path = "/apis/apiextensions.crossplane.io/v1alpha1/managedresourcedefinitions";
      await assert.rejects(
        users.raw({ method: "DELETE", path, query: { labelSelector } }),
        /This would delete 1 object/,
      );
      assert.ok(await exists(refused.name));
    });
  });
}
