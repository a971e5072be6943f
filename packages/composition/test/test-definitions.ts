// SPDX-License-Identifier: Apache-2.0
// The controllers of definitions on an API server, with instance controllers that free what is deleted.

import { silentLog, systemClock } from "@purlin/base";
import { type ControllerClient, crdType } from "@purlin/kube-controller";
import { eventually } from "@purlin/kube-controller/testing";
import { type Condition, conditionsOf, type KubeObject, type TypeRef, withMember } from "@purlin/kube-objects/object";
import { kinds } from "../src/composite-resource/constants.ts";
import type { CreateInstanceController } from "../src/definition/context.ts";
import { createDefinedController, createOfferedController } from "../src/definition/setup.ts";
import { find, startTestControl, type TestControl } from "./test-control.ts";

/** The definition of XApp and App. */
export const appXrd = "xapps.platform.example.org";
/** The definition of Cache. */
export const cacheXrd = "caches.platform.example.org";
/** Composite resources of the one. */
export const xappType: TypeRef = { apiVersion: "platform.example.org/v1alpha1", kind: "XApp" };
/** Its claims. */
export const appType: TypeRef = { apiVersion: "platform.example.org/v1alpha1", kind: "App" };
/** Composite resources of the other. */
export const cacheType: TypeRef = { apiVersion: "platform.example.org/v1", kind: "Cache" };

/** Keeps an object until its instance controller frees it. */
export const held = "test/held";

/** Running controllers of definitions. */
export interface TestDefinitions extends AsyncDisposable {
  readonly control: TestControl;
  /** What instance controllers were started for, and closed, and which CRDs were deleted, in order. */
  readonly life: string[];
  xrd(name?: string): Promise<KubeObject | undefined>;
  condition(type: string, name?: string): Promise<Condition | undefined>;
  /** Waits for a condition of a definition. */
  becomes(type: string, wanted: Partial<Condition>, name?: string): Promise<Condition>;
  events(): string[];
  readonly controllerNames: readonly string[];
}

/** Both controllers of definitions, with instance controllers that free what is deleted and do nothing else. */
export async function startTestDefinitions(shared?: TestControl): Promise<TestDefinitions> {
  const control = shared ?? (await startTestControl());
  const { client, engine, events } = control;
  const life: string[] = [];
  const freeing =
    (side: "composite" | "claim"): CreateInstanceController =>
    (facts) => {
      const type = side === "composite" ? facts.compositeType : (facts.claimType ?? facts.compositeType);
      life.push(`start ${side} ${type.apiVersion} ${type.kind}`);
      return {
        reconcile: async (key) => {
          const object = await client.get(type, key);
          if (object?.metadata.deletionTimestamp && object.metadata.finalizers?.includes(held)) {
            await client.update(withMember(object, ["metadata", "finalizers"], []));
          }
          return {};
        },
        watches: [
          {
            type: "Instance",
            object: type,
            keys: ({ object: { metadata } }) => [{ namespace: metadata.namespace, name: metadata.name ?? "" }],
          },
        ],
        close: () => life.push(`close ${side}`),
      };
    };
  const deleting: ControllerClient = {
    ...client,
    delete(type, options) {
      if (type.kind === crdType.kind) life.push(`delete ${type.name}`);
      return client.delete(type, options);
    },
  };
  const deps = { client: deleting, engine, events, clock: systemClock, log: silentLog, functionRevisions: false };
  const controllers = [
    createDefinedController({ ...deps, compositeController: freeing("composite") }),
    createOfferedController({ ...deps, claimController: freeing("claim") }),
  ];
  for (const controller of controllers) await control.run(controller);
  const xrd: TestDefinitions["xrd"] = (name = appXrd) => find(control.users, kinds.definition, name);
  const condition: TestDefinitions["condition"] = async (type, name) =>
    conditionsOf((await xrd(name)) ?? {}).find((one) => one.type === type);
  return {
    control,
    life,
    xrd,
    condition,
    becomes: (type, wanted, name) =>
      eventually(`${type} ${JSON.stringify(wanted)}`, async () => {
        const found = await condition(type, name);
        const entries = Object.entries(wanted) as [keyof Condition, unknown][];
        return found !== undefined && entries.every(([key, value]) => found[key] === value) && found;
      }),
    events: () => events.texts(),
    controllerNames: controllers.map(({ spec }) => spec.name),
    [Symbol.asyncDispose]: () => control[Symbol.asyncDispose](),
  };
}

/** The condition of a definition whose composite resources are possible. */
export const established = { status: "True", reason: "WatchingCompositeResource" } as const;
/** The condition of a definition that offers claims. */
export const offered = { status: "True", reason: "WatchingCompositeResourceClaim" } as const;
