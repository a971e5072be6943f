// SPDX-License-Identifier: Apache-2.0

import {
  type DevelopmentFunction,
  developmentAnnotations,
  type IgnoredDevelopment,
  isServing,
  readRevision,
  trustedDevelopmentOf,
  withheldAnnotation,
} from "@purlin/function-runner";
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
  annotationOf,
  conditionOf,
  conditionsOf,
  isDeleted,
  isPaused,
  type KubeObject,
  objectAt,
  saysPaused,
  textAt,
  withMember,
} from "@purlin/kube-objects/object";
import type { ResolvedPackage } from "../fetch/package-client.ts";
import { type PackageRequest, refuseUnverified, requestOf, revisionPin } from "../fetch/package-request.ts";
import { clearConditions, type PackageDeps, packageFieldManagers } from "../package-deps.ts";
import { type PackageType, packageLabels, policyMark } from "../package-kinds.ts";
import {
  type CurrentRevision,
  currentByDigest,
  currentByGeneration,
  desiredRevision,
  numberOfCurrent,
} from "./package-revision.ts";
import {
  collectRevisions,
  deactivate,
  handsOver,
  isAutomatic,
  keptByRollouts,
  type PackageContext,
  planStates,
  steps,
  transition,
} from "./plan-states.ts";
import { healthOf, installationOf, reportDevelopment, reportIgnored, unpackingFailed } from "./report-source.ts";

/** The resolved reference of a package, and its revision. */
interface CurrentPackage {
  readonly resolved: ResolvedPackage;
  readonly current: CurrentRevision;
}

const timeoutMs = 60_000;
const alwaysPollMs = 60_000;

/** Keeps the revisions of a package: fetches it, makes what it points to the current revision, and decides which are active. */
export function packageReconciler(deps: PackageDeps, type: PackageType): ReconcilerDefinition<PackageContext> {
  const isFunction = type.kind === "Function";
  const isRollout = isFunction && deps.features.functionRevisionSelectors;
  return {
    ...deps,
    type: type.package,
    timeoutMs,
    extend: (context) => ({ ...deps, ...context, type, package: context.stored.object, isFunction, isRollout }),
    reconcile: reconcilePackage,
    async onFailure({ reason, message }, context) {
      if (reason !== steps.unpack.reason && reason !== steps.build.reason) return;
      await context.writeStatus(withConditionTexts(context.package, unpackingFailed(message), context.clock));
    },
  };
}

async function reconcilePackage(context: PackageContext): Promise<ReconcileResult> {
  const { package: found, isFunction } = context;
  // A function under development is run where its annotations say; it has no package to fetch.
  const development = developmentIn(context, found);
  if (isFunction && development !== undefined && development.kind !== "ignored") {
    if (!isDeleted(found)) await reportDevelopment(context, development);
    return {};
  }
  if (isPaused(found)) await reportPaused(context, context.clock);
  else if (saysPaused(found)) await clearConditions(context);
  // A report about ignored annotations starts another reconcile, which manages the package as if they were not there.
  else if (!isDeleted(found)) {
    const isReported = await reportIgnored(context, development?.kind === "ignored" ? development : undefined);
    if (!isReported) return manage(await withBuiltPackage(context, development));
  }
  return {};
}

/** The package of a Provider under development is the one that its source file builds, whatever package its spec names. */
async function withBuiltPackage(
  context: PackageContext,
  development: DevelopmentFunction | IgnoredDevelopment | undefined,
): Promise<PackageContext> {
  const { sourcePackage, package: found } = context;
  if (development?.kind !== "source" || sourcePackage === undefined) return context;
  const build = (): Promise<string> => sourcePackage(found.metadata.name ?? "", development.path);
  const reference = await attempt(steps.build, () => explainTimeout(context, build, `building ${development.path}`));
  // One without a spec has no defaults either. Each save is a revision, which must not stay for ever.
  const spec = { revisionHistoryLimit: 1, ...objectAt(found, ["spec"]), package: reference };
  return { ...context, package: withMember(found, ["spec"], spec) };
}

function developmentIn(
  { features: { developmentFunctions, developmentTrust = {} }, type, sourcePackage }: PackageContext,
  found: KubeObject,
): DevelopmentFunction | IgnoredDevelopment | undefined {
  if (!developmentFunctions || type.kind === "Configuration") return undefined;
  // Providers run from source files only, and where this control plane builds them.
  const isBuilt = sourcePackage !== undefined && annotationOf(found, developmentAnnotations.source);
  if (type.kind === "Provider" && !isBuilt) return undefined;
  return trustedDevelopmentOf(found, developmentTrust);
}

async function manage(context: PackageContext): Promise<ReconcileResult> {
  const { client, type, signal } = context;
  const labels = { [packageLabels.package]: context.package.metadata.name ?? "" };
  const revisions = await attempt(steps.list, () => client.list(type.revision, { labels, signal }));
  const request = requestOf(context.package, textAt(context.package, ["spec", "package"]) ?? "", signal);
  const { resolved, current } = await resolvePackage(context, request, revisions);
  const number = numberOfCurrent(current, revisions);
  const kept = await attempt(steps.list, () => keptByRollouts(context));
  const plan = planStates({ ...context, revisions, current, number, kept });
  if (!handsOver(context)) await deactivate(context, revisions, plan.inactive);
  await collectRevisions(context, revisions, current.name);
  const stored = await applyCurrent(context, { current, number, resolved, desiredState: plan.current, revisions });
  if (handsOver(context)) await transition(context, revisions, plan);
  await reportPackage(context, { stored, resolved, active: plan.active });
  return request.pullPolicy === "Always" ? { requeueAfterMs: alwaysPollMs } : {};
}

/** Writes the status of the package: current and active revisions, source and health. */
async function reportPackage(
  context: PackageContext,
  { stored, resolved, active }: { stored: KubeObject; resolved: ResolvedPackage; active: readonly string[] },
): Promise<void> {
  const { type, isRollout } = context;
  const hasRuntime = type.hasRuntime;
  const health = healthOf(stored, hasRuntime);
  const before = conditionOf(conditionsOf(context.package), "Healthy").status;
  if (health.status === "True" && before !== "True") {
    const message = "Successfully installed package revision";
    context.emit({ reason: steps.install.reason, message });
  }
  const status: Record<string, unknown> = {
    ...(context.package["status"] as JsonObject | undefined),
    currentRevision: stored.metadata.name,
    currentIdentifier: textAt(context.package, ["spec", "package"]),
    resolvedPackage: resolved.resolved,
  };
  if (resolved.applied.length > 0) status["appliedImageConfigRefs"] = resolved.applied;
  else delete status["appliedImageConfigRefs"];
  if (isRollout) status["activeRevisions"] = namesOfActive(stored, active);
  else delete status["activeRevisions"];
  const after = { ...context.package, status } as KubeObject;
  await context.writeStatus(withConditionTexts(after, [installationOf(stored), health], context.clock));
}

function namesOfActive(current: KubeObject, older: readonly string[]): readonly string[] {
  const isActive = textAt(current, ["spec", "desiredState"]) === "Active";
  return [...(isActive ? [current.metadata.name ?? ""] : []), ...older];
}

/**
 * Resolves the reference and reads the package, so that no revision is created of a package that cannot be installed. An existing
 * revision was installed before an ImageConfig required signatures, and stays.
 */
async function resolvePackage(
  context: PackageContext,
  request: PackageRequest,
  revisions: readonly KubeObject[],
): Promise<CurrentPackage> {
  const read = async (): Promise<CurrentPackage> => {
    const resolved = await context.packages.resolve(request);
    const current = currentRevision(context, resolved, revisions);
    if (current.existing === undefined) refuseUnverified(resolved);
    await context.packages.contents(resolved, request);
    // Before the revision is made: its tag may move at any time.
    await context.packages.pin(revisionPin(context.type.revision.kind, current.name), resolved.digest);
    return { resolved, current };
  };
  return attempt(steps.unpack, () => explainTimeout(context, read, `reading ${request.reference}`));
}

function currentRevision(
  { package: owner, isRollout }: PackageContext,
  { digest }: ResolvedPackage,
  revisions: readonly KubeObject[],
): CurrentRevision {
  const { name: packageName = "", generation = 0 } = owner.metadata;
  return (isRollout ? currentByDigest : currentByGeneration)({ packageName, digest, generation }, revisions);
}

/** Applies the current revision as the package defines it. A revision of another owner is not adopted. */
async function applyCurrent(
  context: PackageContext,
  wanted: {
    readonly current: CurrentRevision;
    readonly number: number;
    readonly resolved: ResolvedPackage;
    readonly desiredState: string;
    readonly revisions: readonly KubeObject[];
  },
): Promise<KubeObject> {
  const { type, isRollout, hasRuntime } = context;
  const { current, number, resolved, desiredState } = wanted;
  const revision = desiredRevision({
    type,
    package: context.package,
    name: current.name,
    number,
    desiredState,
    digest: isRollout ? resolved.digest : undefined,
    isNamedByRevision: isRollout,
    hasRuntime: type.kind !== "Configuration" && hasRuntime[type.kind],
    copiesLabels: isRollout,
    isWithheld: isWithheld(context, current.existing, wanted.revisions),
  });
  return attempt(steps.install, async () => {
    refuseForeign(current.existing, context.package);
    const options = { fieldManager: packageFieldManagers.manager, force: true, signal: context.signal };
    const isShared = !isAutomatic(context.package) || annotationOf(revision, withheldAnnotation) !== undefined;
    const seen = isShared ? asSeen(revision, current.existing) : revision;
    return (await context.client.applyIfChanged(seen, options)).object;
  });
}

/** A new revision of a Function with a rolloutPolicy waits for its rollout, unless there is nothing that could continue to serve. */
function isWithheld(
  { features, isFunction, package: owner }: PackageContext,
  existing: KubeObject | undefined,
  revisions: readonly KubeObject[],
): boolean {
  if (!isFunction || features.functionRollouts !== true) return false;
  if (existing !== undefined) return annotationOf(existing, withheldAnnotation) === policyMark;
  const hasPolicy = textAt(owner, ["spec", "rolloutPolicy", "templateRef", "name"]) !== undefined;
  return hasPolicy && revisions.some((one) => isServing(readRevision(one)));
}

/**
 * With a policy other than Automatic, edits of users since the read must not be undone, nor must the mark of a rollout, which may even have
 * ended while the package was fetched: the server refuses the write then.
 */
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
