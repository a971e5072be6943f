// SPDX-License-Identifier: Apache-2.0

import type { JsonObject } from "@purlin/kube-objects/json";
import {
  controllerOf,
  controllerReference,
  type KubeObject,
  memberAt,
  type OwnerReference,
  textAt,
} from "@purlin/kube-objects/object";
import { type PackageType, packageLabels } from "../../package-kinds.ts";
import { applyOwned } from "../owned-objects.ts";
import { type ObjectPlace, podLabels, runtimeKinds, runtimePort, templatedMetadata } from "./runtime-names.ts";
import { isNewer, type RuntimeScene } from "./runtime-scene.ts";

/** The revision that a Service selects, and the place of the Service. */
interface ServiceInput {
  readonly type: PackageType;
  readonly revision: KubeObject;
  /** `spec` of the runtime config. */
  readonly config: JsonObject;
  readonly place: ObjectPlace;
}

/**
 * Applies the Service of a revision. One Service may be shared by all revisions of a package: it selects the revision in charge, and
 * only that one writes it. Resolves to whether it selects this revision.
 */
export async function applyService(scene: RuntimeScene, isServing: boolean): Promise<boolean> {
  const { options, revision, names, signal } = scene;
  const { objects, namespace } = options;
  const existing = await objects.get(runtimeKinds.service, { namespace, name: names.service }, { signal });
  if (existing !== undefined) refuseForeign(scene, existing);
  if (!names.isPerRevision && !isInCharge(scene, existing, isServing)) return false;
  await apply(scene, { name: names.service, owner: controllerReference(revision), existing });
  return true;
}

/**
 * Where revisions have Services of their own, an existing Service of the package stays for clients that use its name: it belongs to
 * the package and selects the revision in charge.
 */
export async function applyAlias(scene: RuntimeScene): Promise<void> {
  const { options, type, names, signal } = scene;
  const { client, objects, namespace } = options;
  if (!names.isPerRevision || names.service === names.package) return;
  const existing = await objects.get(runtimeKinds.service, { namespace, name: names.package }, { signal });
  if (existing === undefined || !isOurs(scene, existing) || !isInCharge(scene, existing, true)) return;
  const owner = await client.get(type.package, { name: names.package }, { signal });
  if (owner !== undefined) await apply(scene, { name: names.package, owner: controllerReference(owner), existing });
}

async function apply(
  { options, type, revision, config, signal }: RuntimeScene,
  { existing, ...place }: { name: string; owner: OwnerReference; existing: KubeObject | undefined },
): Promise<void> {
  const { objects, namespace } = options;
  const service = serviceOf({ type, revision, config, place: { ...place, namespace } });
  await applyOwned(objects, service, { existing, signal });
}

/**
 * In charge is the newest revision that serves, or, while none does, the one that the Service selects already, or else the
 * newest. So a new revision takes over when it serves, and an old one never takes back.
 */
export function isInCharge(scene: RuntimeScene, service: KubeObject | undefined, isServing: boolean): boolean {
  const { revision, siblings } = scene;
  const newer = siblings.filter((one) => isNewer(one, revision));
  const holds = (one: KubeObject): boolean => leadsTo(service, one);
  if (newer.some((one) => serves(one) || holds(one))) return false;
  if (isServing || serves(revision) || holds(revision)) return true;
  return newer.length === 0 && !siblings.some((one) => serves(one) || holds(one));
}

function serves(revision: KubeObject): boolean {
  return textAt(revision, ["status", "endpoint"]) !== undefined;
}

function leadsTo(service: KubeObject | undefined, { metadata }: KubeObject): boolean {
  return service !== undefined && memberAt(service, ["spec", "selector", packageLabels.revision]) === metadata.name;
}

function refuseForeign(scene: RuntimeScene, service: KubeObject): void {
  if (isOurs(scene, service)) return;
  const { name = "", namespace = "" } = service.metadata;
  const owner = controllerOf(service);
  const whose = owner === undefined ? "it has no owner" : `it belongs to ${owner.kind} "${owner.name}"`;
  const advice = "delete it, or name another one in spec.serviceTemplate of the runtime config";
  throw new Error(
    `Service "${namespace}/${name}" is in the way: ${whose}, so ${scene.type.kind} "${scene.names.package}" does not adopt it; ${advice}`,
  );
}

/** Made for this package: by one of its revisions, gone or not, or for the package itself. */
function isOurs({ type, names }: RuntimeScene, service: KubeObject): boolean {
  const owner = controllerOf(service);
  if (owner === undefined || !owner.apiVersion.startsWith("pkg.crossplane.io/")) return false;
  if (owner.kind === type.kind) return owner.name === names.package;
  const label = type.kind === "Function" ? packageLabels.function : packageLabels.provider;
  return owner.kind === type.revision.kind && memberAt(service, ["spec", "selector", label]) === names.package;
}

/** The Service of a revision. That of a function is headless: callers balance between its Pods themselves. */
export function serviceOf({ type, revision, config, place }: ServiceInput): KubeObject {
  const common = { port: runtimePort, protocol: "TCP" };
  const spec =
    type.kind === "Function"
      ? { clusterIP: "None", ports: [{ name: "grpc", ...common, targetPort: "grpc", appProtocol: "tls" }] }
      : { ports: [{ name: "webhook", ...common, targetPort: "webhook" }] };
  return {
    ...runtimeKinds.service,
    metadata: templatedMetadata(config, "serviceTemplate", place),
    spec: { ...spec, selector: podLabels(type, revision) },
  };
}
