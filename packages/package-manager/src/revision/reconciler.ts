// SPDX-License-Identifier: Apache-2.0

import { attempt, isReconcileFailure, type ReconcileResult } from "@purlin/kube-controller";
import { isConflict, isNotFound } from "@purlin/kube-objects/errors";
import {
  hasFinalizer,
  isDeleted,
  isPaused,
  type KubeObject,
  type ObjectKey,
  saysPaused,
  textAt,
  withFinalizer,
  withoutFinalizer,
} from "@purlin/kube-objects/object";
import { type PackageContents, parseConstraint, parseVersion } from "@purlin/oci";
import type { ResolvedPackage } from "../fetch/package-client.ts";
import { referenceOfRevision, requestOf } from "../fetch/package-request.ts";
import { entryOf } from "../lock/lock-entry.ts";
import { type DependencyCounts, registerPackage, unregisterPackage } from "../lock/register.ts";
import { packageFieldManagers } from "../manager/package-manager-ports.ts";
import { numberOf } from "../manager/revision-identity.ts";
import { type PackageType, packageFinalizers, packageLabels } from "../package-kinds.ts";
import { inTime, passSignals } from "../pass-signals.ts";
import { forgetPause, tellPaused } from "../pausing.ts";
import { findRivals, giveWay } from "./duplicate-packages.ts";
import { installObjects, releaseObjects } from "./install-objects.ts";
import { packageOf, type RevisionPass, steps } from "./revision-pass.ts";
import type { RevisionPorts } from "./revision-ports.ts";
import { tellHealthy, tellUnhealthy, warn } from "./tell-revision.ts";

type Texts = Readonly<Record<string, string>>;

const passMs = 180_000;

/** Makes a revision true: reads its package, sees that what it needs is there, and installs what it brings. */
export async function reconcileRevision(
  ports: RevisionPorts,
  type: PackageType,
  {
    key,
    stopping,
    timeoutMs = passMs,
  }: { readonly key: ObjectKey; readonly stopping: AbortSignal; readonly timeoutMs?: number },
): Promise<ReconcileResult> {
  const signals = passSignals(stopping, timeoutMs);
  const { signal } = signals;
  const found = await ports.client.get(type.revision, key, { signal });
  if (found === undefined) return {};
  const pass: RevisionPass = { ...ports, type, revision: found, ...signals, found: new Map() };
  // Paused comes first: not even a deletion goes on.
  if (isPaused(found)) await tellPaused(ports, found, signal);
  else if (isDeleted(found)) await finalize(pass);
  else if (saysPaused(found)) await forgetPause(ports, found, signal);
  else await tellingFailure(pass);
  return {};
}

async function finalize({ client, revision, signal }: RevisionPass): Promise<void> {
  if (!hasFinalizer(revision, packageFinalizers.revision)) return;
  await unregisterPackage(client, revision.metadata.name ?? "", signal);
  const freed = withoutFinalizer(revision, packageFinalizers.revision);
  try {
    await client.update(freed, { fieldManager: packageFieldManagers.update, signal });
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}

async function tellingFailure(pass: RevisionPass): Promise<void> {
  try {
    await settle({ ...pass, revision: await ensureFinalizer(pass) });
  } catch (error) {
    if (!isConflict(error) && isReconcileFailure(error) && !pass.telling.aborted) await tellUnhealthy(pass, error);
    throw error;
  }
}

async function ensureFinalizer({ client, revision, signal }: RevisionPass): Promise<KubeObject> {
  if (hasFinalizer(revision, packageFinalizers.revision)) return revision;
  const options = { fieldManager: packageFieldManagers.update, signal };
  return attempt(steps.finalizer, () => client.update(withFinalizer(revision, packageFinalizers.revision), options));
}

async function settle(pass: RevisionPass): Promise<void> {
  if (textAt(pass.revision, ["spec", "desiredState"]) === "Inactive") {
    await unregisterPackage(pass.client, pass.revision.metadata.name ?? "", pass.signal);
    const released = await releaseObjects(pass);
    // One that installed nothing goes on: its package is still looked at.
    if (released.length > 0) return tellHealthy(pass, released);
  }
  const contents = await fetchContents(pass);
  const labelled = { ...pass, revision: await attempt(steps.metadata, () => addPackageLabels(pass, contents)) };
  const message = incompatibility(labelled, contents);
  // Trying again would not help: another version of either is a change that brings a new pass.
  if (message !== undefined) return tellUnhealthy(labelled, { reason: steps.compatible.reason, message });
  await resolveDependencies(labelled, contents);
  await tellHealthy(labelled, await installObjects(labelled, contents));
}

/** Gives the revision the labels and annotations of the package's metadata. A label that the package object sets wins. */
async function addPackageLabels(pass: RevisionPass, { meta }: PackageContents): Promise<KubeObject> {
  const { client, revision, signal } = pass;
  const owned = pass.features.functionRevisionSelectors ? ((await packageOf(pass)).metadata.labels ?? {}) : {};
  const labels = Object.entries(meta.labels).filter(([key]) => !(key in owned) && key !== packageLabels.package);
  const { metadata } = revision;
  const wanted = {
    ...metadata,
    labels: { ...metadata.labels, ...Object.fromEntries(labels) },
    annotations: { ...metadata.annotations, ...meta.annotations },
  };
  if (isWithin(wanted.labels, metadata.labels) && isWithin(wanted.annotations, metadata.annotations)) return revision;
  const changed = { ...revision, metadata: wanted } as KubeObject;
  return client.update(changed, { fieldManager: packageFieldManagers.update, signal });
}

function isWithin(wanted: Texts, there: Texts | null | undefined): boolean {
  return Object.entries(wanted).every(([key, value]) => there?.[key] === value);
}

/** Reads the package of a revision and notes what it says of itself. What should not be in it is only told. */
async function fetchContents(pass: RevisionPass): Promise<PackageContents> {
  const { packages, revision, signal, found } = pass;
  const request = requestOf(revision, referenceOfRevision(revision), signal);
  const read = async (): Promise<{ resolved: ResolvedPackage; contents: PackageContents }> => {
    const looked = await packages.resolve(request);
    return { resolved: looked, contents: await packages.contents(looked, request) };
  };
  const { resolved, contents } = await attempt(steps.parse, () => inTime(pass, read, `reading ${request.reference}`));
  const applied = resolved.applied.length > 0 ? resolved.applied : undefined;
  found.set("resolvedImage", resolved.resolved);
  found.set("appliedImageConfigRefs", applied);
  await attempt(steps.validate, () => requireKind(pass.type, contents));
  const { capabilities } = contents.meta;
  found.set("capabilities", capabilities.length > 0 ? [...capabilities] : undefined);
  for (const finding of contents.findings) warn(pass, "LintPackage", finding);
  return contents;
}

function requireKind({ kind }: PackageType, { meta }: PackageContents): void {
  if (meta.kind !== kind) throw new Error(`the package is a ${meta.kind}, not a ${kind}; install it as a ${meta.kind}`);
}

/** Why the package does not suit this control plane; undefined when it does, or when nobody minds. */
function incompatibility(
  { revision, crossplaneVersion }: Pick<RevisionPass, "revision" | "crossplaneVersion">,
  { meta }: Pick<PackageContents, "meta">,
): string | undefined {
  const { ignoreCrossplaneConstraints } = revision["spec"] as { ignoreCrossplaneConstraints?: boolean };
  const version = parseVersion(crossplaneVersion);
  if (ignoreCrossplaneConstraints === true || meta.crossplaneConstraint === undefined || version === undefined) {
    return undefined;
  }
  if (parseConstraint(meta.crossplaneConstraint).allows(version)) return undefined;
  const wanted = `it wants ${meta.crossplaneConstraint}`;
  return `${steps.compatible.text}: package is not compatible with Crossplane version (${crossplaneVersion}); ${wanted}`;
}

/** Enters the revision into the Lock and requires that what it needs is there, in versions that will do. */
async function resolveDependencies(pass: RevisionPass, { meta }: PackageContents): Promise<void> {
  const { revision, client, signal } = pass;
  const { skipDependencyResolution, desiredState } = revision["spec"] as Record<string, unknown>;
  if (skipDependencyResolution === true || desiredState === "Inactive") return;
  const siblings = await siblingsOf(pass);
  const name = revision.metadata.name ?? "";
  if (!isLead(revision, siblings)) {
    await unregisterPackage(client, name, signal);
    noteCounts(pass, { found: 0, installed: 0, invalid: 0 });
    return;
  }
  await attempt(steps.dependencies, async () => {
    const own = entryOf({ name, image: textAt(revision, ["spec", "image"]) ?? "" }, meta);
    const names = new Set(siblings.map(({ metadata }) => metadata.name ?? ""));
    const { lead, replaced } = await findRivals(pass, own, names);
    if (lead !== undefined) return giveWay(pass, own, lead);
    const counts = await registerPackage(client, { own, siblings: new Set([...names, ...replaced]) }, signal);
    noteCounts(pass, counts);
    if (counts.problem !== undefined) throw new Error(counts.problem);
  });
}

function siblingsOf({ client, type, revision, signal }: RevisionPass): Promise<readonly KubeObject[]> {
  const owner = revision.metadata.labels?.[packageLabels.package] ?? "";
  return client.list(type.revision, { labels: { [packageLabels.package]: owner }, signal });
}

/** Of several active revisions the highest speaks for the package: the Lock has room for one. None that is going: nobody is woken when it is gone. */
function isLead(revision: KubeObject, siblings: readonly KubeObject[]): boolean {
  const active = siblings.filter((one) => textAt(one, ["spec", "desiredState"]) === "Active" && !isDeleted(one));
  return active.every((one) => numberOf(one) <= numberOf(revision));
}

/** Counts of zero are left out, as Crossplane does. */
function noteCounts({ found }: RevisionPass, counts: Omit<DependencyCounts, "problem">): void {
  found.set("foundDependencies", counts.found || undefined);
  found.set("installedDependencies", counts.installed || undefined);
  found.set("invalidDependencies", counts.invalid || undefined);
}
