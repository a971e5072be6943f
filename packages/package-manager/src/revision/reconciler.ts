// SPDX-License-Identifier: Apache-2.0

import {
  attempt,
  explainTimeout,
  type ReconcileResult,
  type ReconcilerDefinition,
  reservedFor,
  TerminalError,
  withConditionTexts,
  writeStatus,
} from "@purlin/kube-controller";
import { ignoreNotFound } from "@purlin/kube-objects/errors";
import { isJsonObject, type JsonValue } from "@purlin/kube-objects/json";
import {
  type ConditionText,
  conditionOf,
  conditionsOf,
  hasFinalizer,
  isDeleted,
  type KubeObject,
  memberAt,
  saysPaused,
  textAt,
  withFinalizer,
  withMember,
  withoutFinalizer,
} from "@purlin/kube-objects/object";
import { type PackageContents, parseConstraint, parseVersion } from "@purlin/oci";
import type { ObjectReference } from "../establish/establish.ts";
import type { ResolvedPackage } from "../fetch/package-client.ts";
import { referenceOfRevision, requestOf } from "../fetch/package-request.ts";
import { type DependencyCounts, registerPackage, unregisterPackage } from "../lock/dependency-graph.ts";
import { entryOf } from "../lock/lock-store.ts";
import { numberOf } from "../manager/package-revision.ts";
import { clearConditions, packageFieldManagers } from "../package-deps.ts";
import { definitionKinds, type PackageType, packageFinalizers, packageLabels } from "../package-kinds.ts";
import { findRivals, giveWay } from "./duplicate-packages.ts";
import { installObjects, releaseObjects } from "./install-objects.ts";
import { packageOf, type RevisionContext, type RevisionDeps, steps } from "./revision-context.ts";

type Texts = Readonly<Record<string, string>>;

const timeoutMs = 180_000;

/** Installs a revision: reads its package, requires that its dependencies are installed, and installs its objects. */
export function revisionReconciler(deps: RevisionDeps, type: PackageType): ReconcilerDefinition<RevisionContext> {
  return {
    ...deps,
    type: type.revision,
    timeoutMs,
    // Not even a deletion continues while the revision is paused.
    onPause: "report",
    extend: (context) => ({ ...deps, ...context, type, revision: context.stored.object, found: new Map() }),
    reconcile: reconcileRevision,
    onFailure: ({ message }, context) => reportUnhealthy(context, message),
  };
}

async function reconcileRevision(context: RevisionContext): Promise<ReconcileResult> {
  if (isDeleted(context.revision)) await finalize(context);
  else if (saysPaused(context.revision)) await clearConditions(context);
  else await settle({ ...context, revision: await ensureFinalizer(context) });
  return {};
}

async function finalize({ client, revision, signal }: RevisionContext): Promise<void> {
  if (!hasFinalizer(revision, packageFinalizers.revision)) return;
  await unregisterPackage(client, revision.metadata.name ?? "", signal);
  const freed = withoutFinalizer(revision, packageFinalizers.revision);
  await ignoreNotFound(client.update(freed, { fieldManager: packageFieldManagers.update, signal }));
}

async function ensureFinalizer({ client, revision, signal }: RevisionContext): Promise<KubeObject> {
  if (hasFinalizer(revision, packageFinalizers.revision)) return revision;
  const options = { fieldManager: packageFieldManagers.update, signal };
  return attempt(steps.finalizer, () => client.update(withFinalizer(revision, packageFinalizers.revision), options));
}

async function settle(context: RevisionContext): Promise<void> {
  if (textAt(context.revision, ["spec", "desiredState"]) === "Inactive") {
    await unregisterPackage(context.client, context.revision.metadata.name ?? "", context.signal);
    const released = await releaseObjects(context);
    // The package of a revision that installed nothing is still read.
    if (released.length > 0) return reportHealthy(context, released);
  }
  const contents = await fetchContents(context);
  const labelled = { ...context, revision: await attempt(steps.metadata, () => addPackageLabels(context, contents)) };
  const message = incompatibility(labelled, contents);
  if (message !== undefined) throw new TerminalError(steps.compatible.reason, message);
  await resolveDependencies(labelled, contents);
  await reportHealthy(labelled, await installObjects(labelled, contents));
}

/** Gives the revision the labels and annotations of the package's metadata. A label that the package object sets wins. */
async function addPackageLabels(context: RevisionContext, { meta }: PackageContents): Promise<KubeObject> {
  const { client, revision, signal } = context;
  const owned = context.features.functionRevisionSelectors ? ((await packageOf(context)).metadata.labels ?? {}) : {};
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

/** Reads the package of a revision and records its metadata. Unexpected contents are only reported as events. */
async function fetchContents(context: RevisionContext): Promise<PackageContents> {
  const { packages, revision, signal, found } = context;
  const request = requestOf(revision, referenceOfRevision(revision), signal);
  const read = async (): Promise<{ resolved: ResolvedPackage; contents: PackageContents }> => {
    const looked = await packages.resolve(request);
    return { resolved: looked, contents: await packages.contents(looked, request) };
  };
  const { resolved, contents } = await attempt(steps.parse, () =>
    explainTimeout(context, read, `reading ${request.reference}`),
  );
  const applied = resolved.applied.length > 0 ? [...resolved.applied] : undefined;
  found.set("resolvedImage", resolved.resolved);
  found.set("appliedImageConfigRefs", applied);
  await attempt(steps.validate, () => {
    requireKind(context.type, contents);
    requireFreeKinds(contents);
  });
  const { capabilities } = contents.meta;
  found.set("capabilities", capabilities.length > 0 ? [...capabilities] : undefined);
  for (const message of contents.findings) context.emit({ type: "Warning", reason: "LintPackage", message });
  return contents;
}

function requireKind({ kind }: PackageType, { meta }: PackageContents): void {
  if (meta.kind !== kind) throw new Error(`the package is a ${meta.kind}, not a ${kind}; install it as a ${meta.kind}`);
}

/** A Provider gets rights for the kinds of its package, so it must not name those of others. */
function requireFreeKinds({ meta, objects }: PackageContents): void {
  if (meta.kind !== "Provider") return;
  for (const { kind, metadata } of objects as readonly KubeObject[]) {
    const owner = definitionKinds.has(kind) ? reservedFor(metadata.name ?? "") : undefined;
    if (owner === undefined) continue;
    throw new Error(`${kind} "${metadata.name}" has a group of ${owner}; build the package without it`);
  }
}

/** Why the package is incompatible with this control plane; undefined when it is compatible, or when constraints are ignored. */
function incompatibility(
  { revision, crossplaneVersion }: Pick<RevisionContext, "revision" | "crossplaneVersion">,
  { meta }: Pick<PackageContents, "meta">,
): string | undefined {
  const { ignoreCrossplaneConstraints } = revision["spec"] as { ignoreCrossplaneConstraints?: boolean };
  const version = parseVersion(crossplaneVersion);
  if (ignoreCrossplaneConstraints === true || meta.crossplaneConstraint === undefined || version === undefined) {
    return undefined;
  }
  if (parseConstraint(meta.crossplaneConstraint).allows(version)) return undefined;
  const wanted = `required: ${meta.crossplaneConstraint}`;
  return `${steps.compatible.text}: package is not compatible with Crossplane version (${crossplaneVersion}); ${wanted}`;
}

/** Adds the revision to the Lock and requires that its dependencies are installed, in versions that satisfy it. */
async function resolveDependencies(context: RevisionContext, { meta }: PackageContents): Promise<void> {
  const { revision, client, signal } = context;
  const { skipDependencyResolution, desiredState } = revision["spec"] as Record<string, unknown>;
  if (skipDependencyResolution === true || desiredState === "Inactive") return;
  const siblings = await siblingsOf(context);
  const name = revision.metadata.name ?? "";
  if (!isLead(revision, siblings)) {
    await unregisterPackage(client, name, signal);
    noteCounts(context, { found: 0, installed: 0, invalid: 0 });
    return;
  }
  await attempt(steps.dependencies, async () => {
    const own = entryOf({ name, image: textAt(revision, ["spec", "image"]) ?? "" }, meta);
    const names = new Set(siblings.map(({ metadata }) => metadata.name ?? ""));
    const { lead, replaced } = await findRivals(context, own, names);
    if (lead !== undefined) return giveWay(context, own, lead);
    const counts = await registerPackage(client, { own, siblings: new Set([...names, ...replaced]) }, signal);
    noteCounts(context, counts);
    if (counts.problem !== undefined) throw new Error(counts.problem);
  });
}

function siblingsOf({ client, type, revision, signal }: RevisionContext): Promise<readonly KubeObject[]> {
  const owner = revision.metadata.labels?.[packageLabels.package] ?? "";
  return client.list(type.revision, { labels: { [packageLabels.package]: owner }, signal });
}

/** Of several active revisions the highest represents the package: the Lock holds one. A revision that is being deleted does not: no event follows when it is gone. */
function isLead(revision: KubeObject, siblings: readonly KubeObject[]): boolean {
  const active = siblings.filter((one) => textAt(one, ["spec", "desiredState"]) === "Active" && !isDeleted(one));
  return active.every((one) => numberOf(one) <= numberOf(revision));
}

/** Counts of zero are left out, as Crossplane does. */
function noteCounts({ found }: RevisionContext, counts: Omit<DependencyCounts, "problem">): void {
  found.set("foundDependencies", counts.found || undefined);
  found.set("installedDependencies", counts.installed || undefined);
  found.set("invalidDependencies", counts.invalid || undefined);
}

/** Sets the condition RevisionHealthy and the references of the installed objects. */
async function reportHealthy(context: RevisionContext, references: readonly ObjectReference[]): Promise<void> {
  const { revision, found } = context;
  found.set("objectRefs", references.length > 0 ? [...references] : undefined);
  const isNew = conditionOf(conditionsOf(revision), "RevisionHealthy").status !== "True";
  await writeFound(context, { type: "RevisionHealthy", status: "True", reason: "HealthyPackageRevision" });
  if (isNew) context.emit({ reason: "SyncPackage", message: "Successfully configured package revision" });
}

/** Clears the condition RevisionHealthy. */
async function reportUnhealthy(context: RevisionContext, message: string): Promise<void> {
  await writeFound(context, { type: "RevisionHealthy", status: "False", reason: "UnhealthyPackageRevision", message });
}

/** Merges the fields that the reconcile found into the status as it is stored now: the controller of the runtime writes it too. */
async function writeFound(
  { client, clock, type, revision, found, statusSignal: signal }: RevisionContext,
  text: ConditionText,
): Promise<void> {
  const before = await client.get(type.revision, { name: revision.metadata.name ?? "" }, { signal });
  if (before === undefined) return;
  let after = before;
  for (const [field, value] of found) {
    const isShared = field === "appliedImageConfigRefs";
    after = withMember(after, ["status", field], isShared ? withRuntimeConfigRefs(before, value) : value);
  }
  await writeStatus(client, { before, after: withConditionTexts(after, [text], clock), signal });
}

/** The controller of the runtime reports the ImageConfig that configured it. */
function withRuntimeConfigRefs(before: KubeObject, found: JsonValue | undefined): JsonValue | undefined {
  const stored = memberAt(before, ["status", "appliedImageConfigRefs"]);
  const kept = (Array.isArray(stored) ? stored : []).filter(
    (one) => isJsonObject(one) && one["reason"] === "ConfigureRuntime",
  );
  const all = [...(Array.isArray(found) ? found : []), ...kept];
  return all.length > 0 ? all : undefined;
}
