// SPDX-License-Identifier: Apache-2.0
// Protects Providers that have managed resources, and definitions that have composite resources, by ClusterUsages.
import { createHash } from "node:crypto";
import type { Clock, Log } from "@purlin/base";
import {
  attempt,
  type ControllerClient,
  type ControllerEngine,
  defineController,
  type EventRecorder,
  type ReconcileContext,
  type ReconcileResult,
  type WatchId,
  type WatchingController,
} from "@purlin/kube-controller";
import { ignoreNotFound } from "@purlin/kube-objects/errors";
import {
  conditionOf,
  conditionsOf,
  controllerOf,
  groupOf,
  isDeleted,
  type KubeObject,
  labelOf,
  type TypeRef,
} from "@purlin/kube-objects/object";
import { kinds } from "../composite-resource/constants.ts";
import { packageLabel } from "../composition/function-revisions.ts";
import { definitionFacts } from "../definition/definition-facts.ts";
import { isActive, managedDefinitionType, storedTypeOf } from "../managed/definition-controller.ts";
import { usageTypes } from "./usage-index.ts";

interface ProtectionDeps {
  readonly client: ControllerClient;
  readonly engine: ControllerEngine;
  readonly events: EventRecorder;
  readonly clock: Clock;
  readonly log: Log;
}

/** What is protected, while objects of a kind exist. */
interface Protection {
  readonly instances: TypeRef;
  readonly of: TypeRef & { readonly name: string };
  readonly reason: string;
  readonly labels: Readonly<Record<string, string>>;
}

/** A kind of definitions, and what their instances protect; undefined while there is nothing to protect. */
interface ProtectedKind {
  readonly type: TypeRef;
  readonly prefix: string;
  readonly protectionOf: (
    definition: KubeObject,
    client: ControllerClient,
    signal: AbortSignal,
  ) => Promise<Protection | undefined>;
}

const fieldManager = "apiextensions.crossplane.io/managed-protection";
const clusterUsage: TypeRef = usageTypes[1] as TypeRef;
const timeoutMs = 60_000;
const longestLabel = 63;

/** The controllers of `--enable-provider-deletion-protection`. */
export function createProtectionControllers(deps: ProtectionDeps): readonly WatchingController[] {
  return [
    createController({ type: managedDefinitionType, prefix: "provider-protection", protectionOf: ofProvider }, deps),
    createController({ type: kinds.definition, prefix: "definition-protection", protectionOf: ofDefinition }, deps),
  ];
}

function createController(
  kind: ProtectedKind,
  { client, engine, events, clock, log }: ProtectionDeps,
): WatchingController {
  const name = `protection/${kind.type.kind.toLowerCase()}.apiextensions.crossplane.io`;
  return defineController({
    client,
    events,
    clock,
    log,
    name,
    type: kind.type,
    timeoutMs,
    onGone: async ({ key, signal }) => {
      const type = instancesOf(key.name);
      await engine.stopWatches(
        name,
        engine.watchesOf(name).filter((one) => one.type === type),
      );
      await unprotect(kind, key.name, { client, signal });
      return {};
    },
    reconcile: (context) =>
      attempt({ reason: "ProtectFromDeletion", text: "cannot protect from deletion" }, () =>
        protect(context, kind, { client, engine, name }),
      ),
    watches: [{ type: "Definition", object: kind.type, keys: ({ object }) => [{ name: object.metadata.name ?? "" }] }],
  });
}

async function protect(
  { key, stored, signal }: ReconcileContext,
  kind: ProtectedKind,
  { client, engine, name }: Pick<ProtectionDeps, "client" | "engine"> & { readonly name: string },
): Promise<ReconcileResult> {
  const wanted = isDeleted(stored.object) ? undefined : await kind.protectionOf(stored.object, client, signal);
  const type = instancesOf(key.name);
  // A kind that is not protected any longer, or whose stored version is another one now, is not watched any longer.
  const isStale = (one: WatchId): boolean => one.type === type && !isSameType(one.object, wanted?.instances);
  await engine.stopWatches(name, engine.watchesOf(name).filter(isStale));
  if (wanted === undefined) {
    await unprotect(kind, key.name, { client, signal });
    return {};
  }
  const object = wanted.instances;
  // Only the first and the last object matter.
  const keys = (change: { readonly type: string }) => (change.type === "updated" ? [] : [key]);
  await engine.startWatches(name, [{ type, object, keys }], signal);
  const instances = await client.list(wanted.instances, { limit: 1, signal });
  if (instances.length === 0) {
    await unprotect(kind, key.name, { client, signal });
    return {};
  }
  const { name: used, ...of } = wanted.of;
  const usage: KubeObject = {
    ...clusterUsage,
    metadata: { name: usageName(kind, key.name), labels: wanted.labels },
    spec: { of: { apiVersion: of.apiVersion, kind: of.kind, resourceRef: { name: used } }, reason: wanted.reason },
  };
  await client.applyIfChanged(usage, { fieldManager, force: true, signal });
  return {};
}

/** The type of the watch on the instances of a definition. */
function instancesOf(definition: string): string {
  return `Instances of ${definition}`;
}

function isSameType(a: TypeRef, b: TypeRef | undefined): boolean {
  return a.apiVersion === b?.apiVersion && a.kind === b.kind;
}

async function unprotect(
  kind: ProtectedKind,
  name: string,
  { client, signal }: { readonly client: ControllerClient; readonly signal: AbortSignal },
): Promise<void> {
  const usage = { ...clusterUsage, name: usageName(kind, name) };
  if ((await client.get(clusterUsage, { name: usage.name }, { signal })) === undefined) return;
  await ignoreNotFound(client.delete(usage, { signal }));
}

function usageName({ prefix }: ProtectedKind, name: string): string {
  return `${prefix}-${createHash("sha256").update(name).digest("hex").slice(0, 52)}`;
}

/** A managed resource definition protects the Provider that it belongs to. */
async function ofProvider(
  mrd: KubeObject,
  client: ControllerClient,
  signal: AbortSignal,
): Promise<Protection | undefined> {
  const instances = storedTypeOf(mrd);
  const owner = controllerOf(mrd);
  const isEstablished = conditionOf(conditionsOf(mrd), "Established").status === "True";
  if (instances === undefined || owner?.kind !== "ProviderRevision" || !isActive(mrd) || !isEstablished)
    return undefined;
  const { apiVersion, kind, name } = owner;
  const revision = await client.get({ apiVersion, kind }, { name }, { signal });
  const provider = revision && labelOf(revision, packageLabel);
  if (provider === undefined) return undefined;
  const group = groupOf(instances.apiVersion);
  return {
    instances,
    of: { apiVersion: "pkg.crossplane.io/v1", kind: "Provider", name: provider },
    reason: `Provider has active managed resources of type ${instances.kind}.${group}`,
    labels: {
      "crossplane.io/provider-protection": "true",
      [packageLabel]: provider,
      "apiextensions.crossplane.io/mrd": labelValue(mrd.metadata.name ?? ""),
    },
  };
}

/** A definition of composite resources protects itself. */
async function ofDefinition(definition: KubeObject): Promise<Protection | undefined> {
  if (conditionOf(conditionsOf(definition), "Established").status !== "True") return undefined;
  const { compositeType: instances, name } = definitionFacts(definition);
  const group = groupOf(instances.apiVersion);
  return {
    instances,
    of: { ...kinds.definition, name },
    reason: `CompositeResourceDefinition has composite resources of type ${instances.kind}.${group}`,
    labels: { "crossplane.io/provider-protection": "true" },
  };
}

/** A name as the value of a label: a long one is cut, and ends in a part of its hash. */
function labelValue(name: string): string {
  if (name.length <= longestLabel) return name;
  return `${name.slice(0, 54)}-${createHash("sha256").update(name).digest("hex").slice(0, 8)}`;
}
