// SPDX-License-Identifier: Apache-2.0
import { type DevelopmentFunction, type IgnoredDevelopment, trustedDevelopmentOf } from "@purlin/function-runner";
import {
  attempt,
  explainTimeout,
  type ReconcileResult,
  type ReconcilerDefinition,
  reportPaused,
  withConditionTexts,
} from "@purlin/kube-controller";
import type { JsonObject } from "@purlin/kube-objects/json";
import {
  conditionOf,
  conditionsOf,
  isDeleted,
  isPaused,
  type KubeObject,
  saysPaused,
  textAt,
} from "@purlin/kube-objects/object";
import type { ResolvedPackage } from "../fetch/package-client.ts";
import { type PackageRequest, requestOf, revisionPin } from "../fetch/package-request.ts";
import { refuseUnverified } from "../fetch/unverified-package.ts";
import { type PackageType, packageLabels } from "../package-kinds.ts";
import { clearConditions } from "../package-status.ts";
import { collectRevisions } from "./collect-revisions.ts";
import { desiredRevision } from "./desired-revision.ts";
import { healthOf, installationOf, unpackingFailed } from "./package-health.ts";
import { type PackageDeps, packageFieldManagers } from "./package-manager-ports.ts";
import { type PackagePass, steps } from "./package-pass.ts";
import { handsOver, isAutomatic, planStates } from "./plan-states.ts";
import { reportDevelopment, reportIgnored } from "./report-source.ts";
import { type CurrentRevision, currentByDigest, currentByGeneration, numberOfCurrent } from "./revision-identity.ts";
import { deactivate, transition } from "./transition-states.ts";

/** What a package's reference stands for now, and the revision of it. */
interface CurrentPackage {
  readonly resolved: ResolvedPackage;
  readonly current: CurrentRevision;
}

const timeoutMs = 60_000;
const alwaysPollMs = 60_000;

/** Keeps the revisions of a package: fetches it, makes what it points to the current revision, and decides which are active. */
export function packageReconciler(deps: PackageDeps, type: PackageType): ReconcilerDefinition<PackagePass> {
  const isFunction = type.kind === "Function";
  const isRollout = isFunction && deps.features.functionRevisionSelectors;
  return {
    ...deps,
    type: type.package,
    timeoutMs,
    extend: (context) => ({ ...deps, ...context, type, package: context.stored.object, isFunction, isRollout }),
    reconcile: reconcilePackage,
    async onFailure({ reason, message }, pass) {
      if (reason !== steps.unpack.reason) return;
      await pass.writeStatus(withConditionTexts(pass.package, unpackingFailed(message), pass.clock));
    },
  };
}

async function reconcilePackage(pass: PackagePass): Promise<ReconcileResult> {
  const { package: found, isFunction } = pass;
  // A function under development is run where its annotations say; it has no package to fetch.
  const development = isFunction ? developmentIn(pass, found) : undefined;
  if (development !== undefined && development.kind !== "ignored") {
    if (!isDeleted(found)) await reportDevelopment(pass, development);
    return {};
  }
  if (isPaused(found)) await reportPaused(pass, pass.clock);
  else if (saysPaused(found)) await clearConditions(pass);
  // A report about ignored annotations starts another reconcile, which manages the package as if they were not there.
  else if (!isDeleted(found) && !(await reportIgnored(pass, development))) return manage(pass);
  return {};
}

function developmentIn(
  { features: { developmentFunctions, developmentTrust = {} } }: PackageDeps,
  found: KubeObject,
): DevelopmentFunction | IgnoredDevelopment | undefined {
  if (!developmentFunctions) return undefined;
  return trustedDevelopmentOf(found, developmentTrust);
}

async function manage(pass: PackagePass): Promise<ReconcileResult> {
  const { client, type, signal } = pass;
  const labels = { [packageLabels.package]: pass.package.metadata.name ?? "" };
  const revisions = await attempt(steps.list, () => client.list(type.revision, { labels, signal }));
  const request = requestOf(pass.package, textAt(pass.package, ["spec", "package"]) ?? "", signal);
  const { resolved, current } = await resolvePackage(pass, request, revisions);
  const number = numberOfCurrent(current, revisions);
  const plan = planStates({ ...pass, revisions, current, number });
  if (!handsOver(pass)) await deactivate(pass, revisions, plan.inactive);
  await collectRevisions(pass, revisions, current.name);
  const stored = await applyCurrent(pass, { current, number, resolved, desiredState: plan.current });
  if (handsOver(pass)) await transition(pass, revisions, plan);
  await reportPackage(pass, { stored, resolved, active: plan.active });
  return request.pullPolicy === "Always" ? { requeueAfterMs: alwaysPollMs } : {};
}

/** Writes the status of the package: current and active revisions, source and health. */
async function reportPackage(
  pass: PackagePass,
  { stored, resolved, active }: { stored: KubeObject; resolved: ResolvedPackage; active: readonly string[] },
): Promise<void> {
  const { type, isRollout } = pass;
  const hasRuntime = type.hasRuntime;
  const health = healthOf(stored, hasRuntime);
  const before = conditionOf(conditionsOf(pass.package), "Healthy").status;
  if (health.status === "True" && before !== "True") {
    const message = "Successfully installed package revision";
    pass.emit({ reason: steps.install.reason, message });
  }
  const status: Record<string, unknown> = {
    ...(pass.package["status"] as JsonObject | undefined),
    currentRevision: stored.metadata.name,
    currentIdentifier: textAt(pass.package, ["spec", "package"]),
    resolvedPackage: resolved.resolved,
  };
  if (resolved.applied.length > 0) status["appliedImageConfigRefs"] = resolved.applied;
  else delete status["appliedImageConfigRefs"];
  if (isRollout) status["activeRevisions"] = namesOfActive(stored, active);
  else delete status["activeRevisions"];
  const after = { ...pass.package, status } as KubeObject;
  await pass.writeStatus(withConditionTexts(after, [installationOf(stored), health], pass.clock));
}

function namesOfActive(current: KubeObject, older: readonly string[]): readonly string[] {
  const isActive = textAt(current, ["spec", "desiredState"]) === "Active";
  return [...(isActive ? [current.metadata.name ?? ""] : []), ...older];
}

/**
 * Looks the reference up and reads the package once, so that no revision is made of what cannot be installed. A revision that is
 * there already was installed before an ImageConfig demanded signatures, and stays.
 */
async function resolvePackage(
  pass: PackagePass,
  request: PackageRequest,
  revisions: readonly KubeObject[],
): Promise<CurrentPackage> {
  const read = async (): Promise<CurrentPackage> => {
    const resolved = await pass.packages.resolve(request);
    const current = currentRevision(pass, resolved, revisions);
    if (current.existing === undefined) refuseUnverified(resolved);
    await pass.packages.contents(resolved, request);
    // Before the revision is made: its tag may move at any time.
    await pass.packages.pin(revisionPin(pass.type.revision.kind, current.name), resolved.digest);
    return { resolved, current };
  };
  return attempt(steps.unpack, () => explainTimeout(pass, read, `reading ${request.reference}`));
}

function currentRevision(
  { package: owner, isRollout }: PackagePass,
  { digest }: ResolvedPackage,
  revisions: readonly KubeObject[],
): CurrentRevision {
  const { name: packageName = "", generation = 0 } = owner.metadata;
  return (isRollout ? currentByDigest : currentByGeneration)({ packageName, digest, generation }, revisions);
}

/** Applies the current revision as the package defines it. A revision of another owner is not adopted. */
async function applyCurrent(
  pass: PackagePass,
  wanted: {
    readonly current: CurrentRevision;
    readonly number: number;
    readonly resolved: ResolvedPackage;
    readonly desiredState: string;
  },
): Promise<KubeObject> {
  const { type, isRollout, hasRuntime } = pass;
  const { current, number, resolved, desiredState } = wanted;
  const revision = desiredRevision({
    type,
    package: pass.package,
    name: current.name,
    number,
    desiredState,
    digest: isRollout ? resolved.digest : undefined,
    isNamedByRevision: isRollout,
    hasRuntime: type.kind !== "Configuration" && hasRuntime[type.kind],
    copiesLabels: isRollout,
  });
  return attempt(steps.install, async () => {
    refuseForeign(current.existing, pass.package);
    const options = { fieldManager: packageFieldManagers.manager, force: true, signal: pass.signal };
    const wanted = isAutomatic(pass.package) ? revision : asSeen(revision, current.existing);
    return (await pass.client.applyIfChanged(wanted, options)).object;
  });
}

/** Where users decide, what they have written since we looked must not be undone: the server refuses then. */
function asSeen(revision: KubeObject, seen: KubeObject | undefined): KubeObject {
  const resourceVersion = seen?.metadata.resourceVersion;
  if (resourceVersion === undefined) return revision;
  return { ...revision, metadata: { ...revision.metadata, resourceVersion } };
}

function refuseForeign(revision: KubeObject | undefined, owner: KubeObject): void {
  const controller = revision?.metadata.ownerReferences?.find((reference) => reference.controller === true);
  if (controller === undefined || controller.uid === owner.metadata.uid) return;
  throw new Error(`existing object is not controlled by UID "${owner.metadata.uid ?? ""}"`);
}
