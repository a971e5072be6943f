// SPDX-License-Identifier: Apache-2.0
// Claims App of composite resources XApp on an API server, reconciled one pass at a time.
import { silentLog, systemClock } from "@purlin/base";
import { type ControllerClient, crdType, type Reconcile, type ReconcileResult } from "@purlin/kube-controller";
import { eventually, type TestServer } from "@purlin/kube-controller/testing";
import type { JsonObject, JsonValue } from "@purlin/kube-objects/json";
import type { RandomInteger } from "@purlin/kube-objects/metadata";
import {
  type Condition,
  conditionsOf,
  type KubeObject,
  type TypeRef,
  textAt,
  withMember,
} from "@purlin/kube-objects/object";
import type { ClaimSettings } from "../src/claim/context.ts";
import { createClaimController } from "../src/claim/reconciler.ts";
import { kinds } from "../src/composite-resource/constants.ts";
import type { CreateInstanceController } from "../src/definition/context.ts";
import { deriveClaimCrd, deriveCompositeCrd } from "../src/definition/derive-crd.ts";
import { createDefinedController, createOfferedController } from "../src/definition/setup.ts";
import { appDefinition } from "./definitions.ts";
import { find, startTestControl, type TestControl } from "./test-control.ts";

/** The kinds of these tests. */
export const appKind = {
  definition: "xapps.platform.example.org",
  claimType: { apiVersion: "platform.example.org/v1alpha1", kind: "App" },
  compositeType: { apiVersion: "platform.example.org/v1alpha1", kind: "XApp" },
} as const;

/** The namespace of these claims. */
export const shop = "shop";

const list = { type: "array", items: { type: "string" } };
const schema = {
  type: "object",
  properties: {
    spec: {
      type: "object",
      "x-kubernetes-preserve-unknown-fields": true,
      properties: {
        image: { type: "string" },
        sizes: list,
        net: { type: "object", properties: { port: { type: "integer" }, host: { type: "string" } } },
      },
    },
    status: { type: "object", properties: { url: { type: "string" }, hosts: list } },
  },
};

/** How claims shall be reconciled. */
interface TestClaimsOptions {
  readonly settings?: Partial<ClaimSettings>;
  readonly random?: RandomInteger;
  /** What the definition says beside the ordinary. */
  readonly definition?: JsonObject;
  /** Another API server than the embedded one. */
  readonly server?: TestServer;
}

/** Claims, and what is behind them. */
export interface TestClaims extends AsyncDisposable {
  readonly control: TestControl;
  readonly reconcile: Reconcile;
  /** The time of conditions, moved by hand. */
  now: number;
  /** Makes a claim. */
  create(name: string, spec?: JsonObject, metadata?: JsonObject): Promise<KubeObject>;
  /** Reconciles a claim once; what it rejects with is the answer too. */
  pass(name: string): Promise<ReconcileResult | Error>;
  claim(name: string): Promise<KubeObject>;
  /** The composite resource that a claim refers to. */
  xr(claim: string): Promise<KubeObject>;
  /** Changes a claim, a composite resource or its status as a user would. */
  edit(object: KubeObject, path: readonly string[], value: JsonValue | undefined): Promise<KubeObject>;
  editStatus(xr: KubeObject, status: JsonObject): Promise<KubeObject>;
  condition(claim: string, type: string): Promise<Condition | undefined>;
}

const start = Date.parse("2026-01-01T00:00:00Z");

/** Starts an API server that serves the kinds, with the definition in it. */
export async function startTestClaims(options: TestClaimsOptions = {}): Promise<TestClaims> {
  const xrd = appDefinition({ schema, ...(options.definition && { spec: options.definition }) });
  const derived = deriveCompositeCrd(withDefaults(xrd), { functionRevisions: true });
  const crds = [derived, deriveClaimCrd(withDefaults(xrd))].map(withoutOwner);
  const control = await startTestControl(crds, options.server);
  const { users, client, events } = control;
  await users.create(xrd);
  await users.create({ apiVersion: "v1", kind: "Namespace", metadata: { name: shop } });
  const claims: { now: number } = { now: start };
  const { reconcile } = createClaimController({
    kind: appKind,
    client,
    events,
    clock: { now: () => claims.now, schedule: () => () => {} },
    log: silentLog,
    settings: options.settings,
    random: options.random,
  });
  const claim: TestClaims["claim"] = async (name) => {
    const found = await client.get(appKind.claimType, { namespace: shop, name });
    if (found === undefined) throw new Error(`there is no claim ${name}`);
    return found;
  };
  return Object.assign(claims, {
    control,
    reconcile,
    claim,
    create: (name: string, spec: JsonObject = {}, metadata: JsonObject = {}) =>
      client.create({ ...appKind.claimType, metadata: { namespace: shop, name, ...metadata }, spec }),
    pass: (name: string) =>
      reconcile({ namespace: shop, name }, new AbortController().signal).catch((error: unknown) => error as Error),
    async xr(name: string) {
      const ref = textAt(await claim(name), ["spec", "resourceRef", "name"]) ?? "";
      const found = await client.get(appKind.compositeType, { name: ref });
      if (found === undefined) throw new Error(`claim ${name} has no composite resource`);
      return found;
    },
    edit: (object: KubeObject, path: readonly string[], value: JsonValue | undefined) =>
      client.update(withMember(object, path, value), { fieldManager: "a-user" }),
    editStatus: (xr: KubeObject, status: JsonObject) =>
      client.update({ ...xr, status }, { subresource: "status", fieldManager: "a-user" }),
    async condition(name: string, type: string) {
      return conditionsOf(await claim(name)).find((one) => one.type === type);
    },
    [Symbol.asyncDispose]: () => control[Symbol.asyncDispose](),
  });
}

/** The defaults that the API server gives to definitions. */
function withDefaults(xrd: KubeObject): KubeObject {
  const defaults = { defaultCompositionUpdatePolicy: "Automatic", defaultCompositeDeletePolicy: "Background" };
  return { ...xrd, ...kinds.definition, spec: { ...defaults, ...(xrd["spec"] as JsonObject) } };
}

function withoutOwner(crd: KubeObject): KubeObject {
  return withMember(crd, ["metadata", "ownerReferences"], undefined);
}

/** Conditions of a status, as functions or controllers leave them. */
export function ready(status: "True" | "False" = "True"): JsonObject {
  const reason = status === "True" ? "Available" : "Creating";
  return { type: "Ready", status, reason, lastTransitionTime: "2026-01-01T00:00:00Z" };
}

// The controllers of definitions on an API server, with instance controllers that free what is deleted.

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
