// SPDX-License-Identifier: Apache-2.0
// What users and runtimes do with packages, for tests of the controllers in between.
import assert from "node:assert/strict";
import type { ReconcileResult } from "@purlin/kube-controller";
import { conditionOf, conditionsOf, type KubeObject, memberAt, withMember } from "@purlin/kube-objects/object";
import type { PackageKind } from "@purlin/oci";
import { otherKinds, packageTypes } from "../src/package-kinds.ts";
import type { RevisionDeps } from "../src/revision/revision-context.ts";
import { caughtUp } from "./caught-up.ts";
import { namespace, type PackageCluster } from "./package-cluster.ts";
import { reconcilePackage, reconcileRevision } from "./reconcile.ts";

const stopping = new AbortController().signal;

/** The YAML of a CRD, to be put behind a `---`. */
export const thingCrd = (plural: string, more = ""): string => `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: ${plural}.example.org}
spec:
  group: example.org
  names: {plural: ${plural}, kind: ${plural.toUpperCase()}}
  scope: Namespaced
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
${more}`;

/** The YAML of a Provider package; a note makes each one different. */
export const providerPackage = (note: string, ...objects: string[]): string =>
  `apiVersion: meta.pkg.crossplane.io/v1\nkind: Provider\nmetadata: {name: p, annotations: {note: "${note}"}}\n${objects.map((one) => `---${one}`).join("")}`;

/** One pass of the manager over a package, as everything is now. */
export async function managePackage(
  cluster: PackageCluster,
  kind: PackageKind,
  name: string,
): Promise<ReconcileResult> {
  const { package: owner, revision } = packageTypes[kind];
  await caughtUp(cluster, [owner, revision, otherKinds.imageConfig]);
  return reconcilePackage(cluster.deps, packageTypes[kind], { key: { name }, stopping });
}

/** Applies a package as a user would, of `acme/<name>:v1` unless the spec says otherwise. */
export function applyPackage(
  cluster: PackageCluster,
  { kind, name, spec = {}, metadata = {} }: { kind: PackageKind; name: string; spec?: object; metadata?: object },
): Promise<KubeObject> {
  const object = {
    ...packageTypes[kind].package,
    metadata: { name, ...metadata },
    spec: { package: `${cluster.registry}/acme/${name}:v1`, ...spec },
  };
  return cluster.kube.apply(object as KubeObject, { fieldManager: "user", force: true });
}

/** Applies a package and lets the manager have a look. */
export async function install(cluster: PackageCluster, kind: PackageKind, name: string, spec?: object): Promise<void> {
  await applyPackage(cluster, { kind, name, ...(spec && { spec }) });
  await managePackage(cluster, kind, name);
}

/** The revisions of a package, highest number first. */
export async function revisions(cluster: PackageCluster, kind: PackageKind, name: string): Promise<KubeObject[]> {
  const { items } = await cluster.kube.list(packageTypes[kind].revision, {
    labelSelector: `pkg.crossplane.io/package=${name}`,
  });
  return items.toSorted(
    (a, b) => Number(memberAt(b, ["spec", "revision"])) - Number(memberAt(a, ["spec", "revision"])),
  );
}

/** The revisions by number, as `number state`. */
export async function states(cluster: PackageCluster, kind: PackageKind, name: string): Promise<string[]> {
  const spec = (object: KubeObject, field: string): unknown => memberAt(object, ["spec", field]);
  return (await revisions(cluster, kind, name)).map((one) => `${spec(one, "revision")} ${spec(one, "desiredState")}`);
}

/** What a runtime does first: the name of its certificate, and the certificate. */
export async function certify(cluster: PackageCluster, revision: KubeObject | undefined): Promise<void> {
  assert.ok(revision);
  const name = String(memberAt(revision, ["spec", "tlsServerSecretName"]));
  const secret = { ...otherKinds.secret, metadata: { name, namespace }, data: { "tls.crt": "eA==" } };
  await cluster.kube.apply(secret as KubeObject, { fieldManager: "runtime", force: true });
  const changed = withMember(revision, ["status", "tlsServerSecretName"], name);
  await cluster.kube.update(changed, { subresource: "status" });
}

/** Says that the revision of a number answers calls, as its runtime would. */
export async function serve(
  cluster: PackageCluster,
  { kind, name, number }: { kind: PackageKind; name: string; number: number },
): Promise<void> {
  const all = await revisions(cluster, kind, name);
  const revision = all.find((one) => memberAt(one, ["spec", "revision"]) === number);
  assert.ok(revision);
  const conditions = ["RevisionHealthy", "RuntimeHealthy"].map((type) => ({
    type,
    status: "True",
    reason: "HealthyPackageRevision",
    lastTransitionTime: "2026-01-01T00:00:00Z",
  }));
  const endpoint = kind === "Function" ? { endpoint: "dns:///x:9443" } : {};
  const status = { ...endpoint, capabilities: ["composition"], conditions };
  await cluster.kube.update({ ...revision, status } as KubeObject, { subresource: "status" });
}

/** One pass of the revision's own controller, as everything is now. */
export async function passRevision(
  cluster: PackageCluster,
  kind: PackageKind,
  revision: KubeObject | undefined,
  more: Partial<RevisionDeps> = {},
): Promise<ReconcileResult> {
  const { package: owner, revision: type } = packageTypes[kind];
  await caughtUp(cluster, [owner, type, otherKinds.imageConfig, otherKinds.lock]);
  const deps = { ...cluster.deps, crossplaneVersion: "v2.4.0", ...more };
  const key = { name: revision?.metadata.name ?? "" };
  return reconcileRevision(deps, packageTypes[kind], { key, stopping });
}

/** A condition as `Status Reason: message`. */
export function conditionText(object: KubeObject, type: string): string {
  const { status, reason, message } = conditionOf(conditionsOf(object), type);
  return [`${status} ${reason}`.trim(), ...(message ? [message] : [])].join(": ");
}

/** A condition of a package. */
export async function packageCondition(
  cluster: PackageCluster,
  { kind, name }: { kind: PackageKind; name: string },
  type: string,
): Promise<string> {
  return conditionText(await cluster.kube.get(packageTypes[kind].package, { name }), type);
}

/** The health of the newest revision, as `Status message`. */
export async function revisionHealth(cluster: PackageCluster, kind: PackageKind, name: string): Promise<string> {
  const [current] = await revisions(cluster, kind, name);
  assert.ok(current);
  const { status, message = "" } = conditionOf(conditionsOf(current), "RevisionHealthy");
  return `${status} ${message}`.trim();
}
