// SPDX-License-Identifier: Apache-2.0
import { type DevelopmentFunction, type IgnoredDevelopment, trustedDevelopmentOf } from "@purlin/function-runner";
import { attempt, isReconcileFailure, type ReconcileResult } from "@purlin/kube-controller";
import { isConflict, textOf } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import {
  conditionOf,
  conditionsOf,
  isDeleted,
  isPaused,
  type KubeObject,
  type ObjectKey,
  saysPaused,
  textAt,
} from "@purlin/kube-objects/object";
import type { ResolvedPackage } from "../fetch/package-client.ts";
import { type PackageRequest, requestOf, revisionPin } from "../fetch/package-request.ts";
import { refuseUnverified } from "../fetch/unverified-package.ts";
import { type PackageType, packageLabels } from "../package-kinds.ts";
import { withTexts } from "../package-status.ts";
import { inTime, passSignals } from "../pass-signals.ts";
import { forgetPause, tellPaused } from "../pausing.ts";
import { collectRevisions } from "./collect-revisions.ts";
import { desiredRevision } from "./desired-revision.ts";
import { healthOf, installationOf, unpackingFailed } from "./package-health.ts";
import { type PackagePorts, packageFieldManagers } from "./package-manager-ports.ts";
import { type PackagePass, steps, store, tellWarning } from "./package-pass.ts";
import { handsOver, isAutomatic, planStates } from "./plan-states.ts";
import { reportDevelopment, reportIgnored } from "./report-source.ts";
import { type CurrentRevision, currentByDigest, currentByGeneration, numberOfCurrent } from "./revision-identity.ts";
import { deactivate, transition } from "./transition-states.ts";

/** What a package's reference stands for now, and the revision of it. */
interface CurrentPackage {
  readonly resolved: ResolvedPackage;
  readonly current: CurrentRevision;
}

const passMs = 60_000;
const alwaysPollMs = 60_000;

/** Keeps the revisions of a package: fetches it, makes what it points to the current revision, and decides who is active. */
export async function reconcilePackage(
  ports: PackagePorts,
  type: PackageType,
  {
    key,
    stopping,
    timeoutMs = passMs,
  }: { readonly key: ObjectKey; readonly stopping: AbortSignal; readonly timeoutMs?: number },
): Promise<ReconcileResult> {
  const signals = passSignals(stopping, timeoutMs);
  const { signal } = signals;
  const found = await ports.client.get(type.package, key, { signal });
  if (found === undefined) return {};
  const isFunction = type.kind === "Function";
  const isRollout = isFunction && ports.features.functionRevisionSelectors;
  const pass: PackagePass = { ...ports, type, package: found, ...signals, isFunction, isRollout };
  // A function under development is run where its annotations say; it has no package to fetch.
  const development = isFunction ? developmentIn(ports, found) : undefined;
  if (development !== undefined && development.kind !== "ignored") {
    if (!isDeleted(found)) await reportDevelopment(pass, development);
    return {};
  }
  if (isPaused(found)) await tellPaused(ports, found, signal);
  else if (saysPaused(found)) await forgetPause(ports, found, signal);
  else if (!isDeleted(found)) return managing(pass, development);
  return {};
}

function developmentIn(
  { features: { developmentFunctions, developmentTrust = {} } }: PackagePorts,
  found: KubeObject,
): DevelopmentFunction | IgnoredDevelopment | undefined {
  if (!developmentFunctions) return undefined;
  return trustedDevelopmentOf(found, developmentTrust);
}

/** The package is managed as if ignored annotations were not there. A report about them brings another pass. */
async function managing(pass: PackagePass, ignored: IgnoredDevelopment | undefined): Promise<ReconcileResult> {
  return (await reportIgnored(pass, ignored)) ? {} : tellingFailure(pass);
}

async function tellingFailure(pass: PackagePass): Promise<ReconcileResult> {
  try {
    return await manage(pass);
  } catch (error) {
    // Somebody else wrote meanwhile: the next pass sees what.
    if (isReconcileFailure(error) && !isConflict(error)) tellWarning(pass, error.reason, error.message);
    throw error;
  }
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

/** Says what the package is now: its current revision, who is active, where it came from, and how it is. */
async function reportPackage(
  pass: PackagePass,
  { stored, resolved, active }: { stored: KubeObject; resolved: ResolvedPackage; active: readonly string[] },
): Promise<void> {
  const { type, events, isRollout } = pass;
  const hasRuntime = type.hasRuntime;
  const health = healthOf(stored, hasRuntime);
  const before = conditionOf(conditionsOf(pass.package), "Healthy").status;
  if (health.status === "True" && before !== "True") {
    const message = "Successfully installed package revision";
    events.event(pass.package, { type: "Normal", reason: steps.install.reason, message });
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
  const told = { ...pass.package, status } as KubeObject;
  await store(pass, withTexts(pass.clock, told, [installationOf(stored), health]));
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
  try {
    const read = async (): Promise<CurrentPackage> => {
      const resolved = await pass.packages.resolve(request);
      const current = currentRevision(pass, resolved, revisions);
      if (current.existing === undefined) refuseUnverified(resolved);
      await pass.packages.contents(resolved, request);
      // Before the revision is made: its tag may move at any time.
      await pass.packages.pin(revisionPin(pass.type.revision.kind, current.name), resolved.digest);
      return { resolved, current };
    };
    return await attempt(steps.unpack, () => inTime(pass, read, `reading ${request.reference}`));
  } catch (error) {
    await store(pass, withTexts(pass.clock, pass.package, unpackingFailed(textOf(error))));
    throw error;
  }
}

function currentRevision(
  { package: owner, isRollout }: PackagePass,
  { digest }: ResolvedPackage,
  revisions: readonly KubeObject[],
): CurrentRevision {
  const { name: packageName = "", generation = 0 } = owner.metadata;
  return (isRollout ? currentByDigest : currentByGeneration)({ packageName, digest, generation }, revisions);
}

/** Makes the current revision what the package says. One that belongs to somebody else is not taken over. */
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
