// SPDX-License-Identifier: Apache-2.0
// Claims App of composite resources XApp on an API server, reconciled one pass at a time.

import { silentLog } from "@purlin/base";
import type { Reconcile, ReconcileResult } from "@purlin/kube-controller";
import type { TestServer } from "@purlin/kube-controller/testing";
import type { JsonObject, JsonValue } from "@purlin/kube-objects/json";
import type { RandomInteger } from "@purlin/kube-objects/metadata";
import { type Condition, conditionsOf, type KubeObject, textAt, withMember } from "@purlin/kube-objects/object";
import type { ClaimSettings } from "../src/claim/context.ts";
import { createClaimController } from "../src/claim/reconciler.ts";
import { kinds } from "../src/composite-resource/constants.ts";
import { deriveClaimCrd, deriveCompositeCrd } from "../src/definition/derive-crd.ts";
import { appDefinition } from "./definitions.ts";
import { startTestControl, type TestControl } from "./test-control.ts";

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
