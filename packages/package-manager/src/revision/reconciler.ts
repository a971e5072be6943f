// SPDX-License-Identifier: Apache-2.0
import type { KubeObject, ObjectKey } from "@purlin/kube-client";
import {
  attempt,
  type ConditionText,
  conditionOf,
  conditionsOf,
  hasFinalizer,
  isDeleted,
  isPaused,
  isReconcileFailure,
  type ReconcileResult,
  textAt,
  withFinalizer,
  withMember,
  withoutFinalizer,
} from "@purlin/kube-controller";
import { isConflict, isNotFound, type JsonValue } from "@purlin/kube-objects";
import { establish, type ObjectReference, release } from "../establish/establish.ts";
import type { PackageRequest, PullPolicy, ResolvedPackage } from "../fetch/package-client.ts";
import { entryOf } from "../lock/lock-entry.ts";
import { type DependencyCounts, registerPackage, unregisterPackage } from "../lock/register.ts";
import { packageFieldManagers } from "../manager/package-manager-ports.ts";
import { numberOf } from "../manager/revision-identity.ts";
import { otherKinds, type PackageType, packageFinalizers, packageLabels } from "../package-kinds.ts";
import { withTexts, writeStatus } from "../package-status.ts";
import { parseConstraint } from "../version/constraint.ts";
import { parseVersion } from "../version/version.ts";
import type { PackageContents } from "../xpkg/package-contents.ts";
import type { RevisionPorts } from "./revision-ports.ts";

const timeoutMs = 180_000;

const steps = {
  finalizer: { reason: "AddFinalizer", text: "cannot add package revision finalizer" },
  parse: { reason: "ParsePackage", text: "cannot get package" },
  validate: { reason: "ValidatePackage", text: "validating package contents failed" },
  compatible: { reason: "LintPackage", text: "incompatible Crossplane version" },
  dependencies: { reason: "ResolveDependencies", text: "cannot resolve package dependencies" },
  establish: { reason: "SyncPackage", text: "cannot establish control of object" },
} as const;

interface RevisionPass extends RevisionPorts {
  readonly type: PackageType;
  readonly revision: KubeObject;
  readonly signal: AbortSignal;
  /** What this pass found out, for the status; others write there too, so it is put in at the end. */
  readonly found: Map<string, JsonValue | undefined>;
}

/** Makes a revision true: reads its package, sees that what it needs is there, and installs what it brings. */
export async function reconcileRevision(
  ports: RevisionPorts,
  type: PackageType,
  { key, stopping }: { readonly key: ObjectKey; readonly stopping: AbortSignal },
): Promise<ReconcileResult> {
  const signal = AbortSignal.any([stopping, AbortSignal.timeout(timeoutMs)]);
  const found = await ports.client.get(type.revision, key, { signal });
  if (found === undefined) return {};
  const pass: RevisionPass = { ...ports, type, revision: found, signal, found: new Map() };
  if (isPaused(found)) return pause(pass);
  if (isDeleted(found)) return finalize(pass);
  if (conditionOf(conditionsOf(found), "Synced").reason === "ReconcilePaused") {
    const bare = withMember(found, ["status", "conditions"], undefined);
    await writeStatus(ports.client, { before: found, after: bare, signal });
    return {};
  }
  try {
    return await settle({ ...pass, revision: await ensureFinalizer(pass) });
  } catch (error) {
    if (!isConflict(error)) await fail(pass, error);
    throw error;
  }
}

async function pause({ client, clock, events, revision, signal }: RevisionPass): Promise<ReconcileResult> {
  const told = "Reconciliation is paused via the pause annotation";
  events.event(revision, { type: "Normal", reason: "ReconciliationPaused", message: told });
  const message = "Reconciliation (including deletion) is paused via the pause annotation";
  const condition = { type: "Synced", status: "False", reason: "ReconcilePaused", message } as const;
  await writeStatus(client, { before: revision, after: withTexts(clock, revision, [condition]), signal });
  return {};
}

async function finalize({ client, revision, signal }: RevisionPass): Promise<ReconcileResult> {
  if (!hasFinalizer(revision, packageFinalizers.revision)) return {};
  await unregisterPackage(client, revision.metadata.name ?? "", signal);
  const freed = withoutFinalizer(revision, packageFinalizers.revision);
  try {
    await client.update(freed, { fieldManager: packageFieldManagers.update, signal });
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
  return {};
}

async function ensureFinalizer({ client, revision, signal }: RevisionPass): Promise<KubeObject> {
  if (hasFinalizer(revision, packageFinalizers.revision)) return revision;
  return attempt(steps.finalizer, () =>
    client.update(withFinalizer(revision, packageFinalizers.revision), {
      fieldManager: packageFieldManagers.update,
      signal,
    }),
  );
}

async function settle(pass: RevisionPass): Promise<ReconcileResult> {
  const isInactive = textAt(pass.revision, ["spec", "desiredState"]) === "Inactive";
  if (isInactive && (await retire(pass))) return {};
  const request = requestOf(pass);
  const { resolved, contents } = await attempt(steps.parse, async () => {
    const looked = await pass.packages.resolve(request);
    return { resolved: looked, contents: await pass.packages.contents(looked, request) };
  });
  notePackage(pass, { resolved, contents });
  await attempt(steps.validate, () => validate(pass.type, contents));
  for (const finding of contents.findings) warn(pass, "LintPackage", finding);
  const labelled = { ...pass, revision: await withPackageLabels(pass, contents) };
  await attempt(steps.compatible, () => requireCompatible(labelled, contents));
  await resolveDependencies(labelled, contents);
  const references = await attempt(steps.establish, () => install(labelled, contents));
  await succeed(labelled, references);
  return {};
}

/** An inactive revision lets go of what it installed. One that installed nothing goes on: its package is still looked at. */
async function retire(pass: RevisionPass): Promise<boolean> {
  const { client, revision, signal } = pass;
  await unregisterPackage(client, revision.metadata.name ?? "", signal);
  const references = objectReferences(revision);
  if (references.length === 0) return false;
  const owner = await packageOf(pass);
  await release({ client, revision, package: owner, signal }, references);
  await succeed(pass, references);
  return true;
}

function objectReferences(revision: KubeObject): readonly ObjectReference[] {
  const references = (revision["status"] as { objectRefs?: ObjectReference[] } | undefined)?.objectRefs;
  return Array.isArray(references) ? references : [];
}

function requestOf({ revision, signal }: RevisionPass): PackageRequest {
  const spec = revision["spec"] as { packagePullSecrets?: { name?: string }[] } | undefined;
  return {
    reference: referenceOf(revision),
    pullSecrets: (spec?.packagePullSecrets ?? []).flatMap(({ name }) => name ?? []),
    pullPolicy: (textAt(revision, ["spec", "packagePullPolicy"]) ?? "IfNotPresent") as PullPolicy,
    signal,
  };
}

/** Where the digest is noted, the revision stays what it was, however its tag moves. */
export function referenceOf(revision: KubeObject): string {
  const image = textAt(revision, ["spec", "image"]) ?? "";
  const digest = textAt(revision, ["spec", "digest"]);
  return digest === undefined || image.includes("@") ? image : `${image}@${digest}`;
}

function validate({ kind }: PackageType, { meta }: PackageContents): void {
  if (meta.kind !== kind) throw new Error(`the package is a ${meta.kind}, not a ${kind}; install it as a ${meta.kind}`);
}

function notePackage(
  { found }: RevisionPass,
  { resolved, contents }: { readonly resolved: ResolvedPackage; readonly contents: PackageContents },
): void {
  found.set("resolvedImage", resolved.resolved);
  const applied = resolved.applied.length > 0 ? (resolved.applied as unknown as JsonValue) : undefined;
  found.set("appliedImageConfigRefs", applied);
  found.set("capabilities", [...contents.meta.capabilities]);
}

/** Labels and annotations of the package's metadata go to the revision. A label that the package object sets wins. */
async function withPackageLabels(pass: RevisionPass, { meta }: PackageContents): Promise<KubeObject> {
  const { client, revision, signal } = pass;
  const owned = pass.features.functionRevisionSelectors ? ((await packageOf(pass)).metadata.labels ?? {}) : {};
  const labels = Object.entries(meta.labels).filter(([key]) => !(key in owned) && key !== packageLabels.package);
  const { metadata } = revision;
  const wanted = {
    ...metadata,
    labels: { ...metadata.labels, ...Object.fromEntries(labels) },
    annotations: { ...metadata.annotations, ...meta.annotations },
  };
  const isThere = (from: Labels, there: Labels | null | undefined): boolean =>
    Object.entries(from).every(([key, value]) => there?.[key] === value);
  if (isThere(wanted.labels, metadata.labels) && isThere(wanted.annotations, metadata.annotations)) return revision;
  const changed = { ...revision, metadata: wanted } as KubeObject;
  return client.update(changed, { fieldManager: packageFieldManagers.update, signal });
}

type Labels = Readonly<Record<string, string>>;

function requireCompatible({ revision, crossplaneVersion }: RevisionPass, { meta }: PackageContents): void {
  const ignores = (revision["spec"] as { ignoreCrossplaneConstraints?: boolean }).ignoreCrossplaneConstraints === true;
  const version = parseVersion(crossplaneVersion);
  if (ignores || meta.crossplaneConstraint === undefined || version === undefined) return;
  if (parseConstraint(meta.crossplaneConstraint).allows(version)) return;
  throw new Error(`package is not compatible with Crossplane version (${crossplaneVersion})`);
}

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
    const counts = await registerPackage(client, { own, siblings: names }, signal);
    noteCounts(pass, counts);
    if (counts.problem !== undefined) throw new Error(counts.problem);
  });
}

function siblingsOf({ client, type, revision, signal }: RevisionPass): Promise<readonly KubeObject[]> {
  const owner = revision.metadata.labels?.[packageLabels.package] ?? "";
  return client.list(type.revision, { labels: { [packageLabels.package]: owner }, signal });
}

/** Of several active revisions the highest speaks for the package: the Lock has room for one. */
function isLead(revision: KubeObject, siblings: readonly KubeObject[]): boolean {
  const active = siblings.filter((one) => textAt(one, ["spec", "desiredState"]) === "Active");
  return active.every((one) => numberOf(one) <= numberOf(revision));
}

function noteCounts({ found }: RevisionPass, counts: Omit<DependencyCounts, "problem">): void {
  found.set("foundDependencies", counts.found);
  found.set("installedDependencies", counts.installed);
  found.set("invalidDependencies", counts.invalid);
}

async function install(pass: RevisionPass, contents: PackageContents): Promise<readonly ObjectReference[]> {
  const { client, revision, signal, type } = pass;
  const control = textAt(revision, ["spec", "desiredState"]) === "Active";
  if (control && type.hasRuntime) await requireCertificate(pass);
  // The CRDs of a Function describe its input to readers; nobody makes objects of them.
  const objects = type.kind === "Function" ? [] : (contents.objects as unknown as readonly KubeObject[]);
  return establish({
    client,
    revision,
    package: await packageOf(pass),
    objects,
    control,
    signal,
  });
}

/** What runs must have its certificate first: whoever installs webhooks needs it. */
async function requireCertificate({ client, revision, namespace, signal }: RevisionPass): Promise<void> {
  const name = textAt(revision, ["status", "tlsServerSecretName"]);
  const waiting = "waiting for package runtime controller to set revision's webhook TLS secret";
  if (name === undefined) throw new Error(waiting);
  const secret = await client.get(otherKinds.secret, { namespace, name }, { signal });
  if (secret === undefined || textAt(secret, ["data", "tls.crt"]) === undefined) throw new Error(waiting);
}

async function packageOf({ client, type, revision, signal }: RevisionPass): Promise<KubeObject> {
  const name = revision.metadata.labels?.[packageLabels.package] ?? "";
  const owner = await client.get(type.package, { name }, { signal });
  if (owner === undefined) throw new Error(`cannot get the ${type.kind} "${name}" of this revision`);
  return owner;
}

async function succeed(pass: RevisionPass, references: readonly ObjectReference[]): Promise<void> {
  const { events, revision, found } = pass;
  found.set("objectRefs", references.length > 0 ? (references as unknown as JsonValue) : undefined);
  const isNew = conditionOf(conditionsOf(revision), "RevisionHealthy").status !== "True";
  await report(pass, { type: "RevisionHealthy", status: "True", reason: "HealthyPackageRevision" });
  if (!isNew) return;
  events.event(revision, {
    type: "Normal",
    reason: "SyncPackage",
    message: "Successfully configured package revision",
  });
}

async function fail(pass: RevisionPass, error: unknown): Promise<void> {
  if (!isReconcileFailure(error) || pass.signal.aborted) return;
  const { reason, message } = error;
  warn(pass, reason, message);
  await report(pass, { type: "RevisionHealthy", status: "False", reason: "UnhealthyPackageRevision", message });
}

/** Writes what the pass found out, over the status as it is now: the runtime's controller writes there too. */
async function report(
  { client, clock, type, revision, found, signal }: RevisionPass,
  text: ConditionText,
): Promise<void> {
  const before = await client.get(type.revision, { name: revision.metadata.name ?? "" }, { signal });
  if (before === undefined) return;
  let after = before;
  for (const [field, value] of found) after = withMember(after, ["status", field], value);
  await writeStatus(client, { before, after: withTexts(clock, after, [text]), signal });
}

function warn({ events, revision }: RevisionPass, reason: string, message: string): void {
  events.event(revision, { type: "Warning", reason, message });
}
