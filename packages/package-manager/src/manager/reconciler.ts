// SPDX-License-Identifier: Apache-2.0
import { developmentOf } from "@purlin/function-runner";
import type { KubeObject, ObjectKey } from "@purlin/kube-client";
import {
  attempt,
  conditionOf,
  conditionsOf,
  isDeleted,
  isPaused,
  isReconcileFailure,
  memberAt,
  type ReconcileResult,
  saysPaused,
  textAt,
  textOf,
  withMember,
} from "@purlin/kube-controller";
import { isConflict, type JsonObject } from "@purlin/kube-objects";
import type { ResolvedPackage } from "../fetch/package-client.ts";
import { type PackageRequest, requestOf } from "../fetch/package-request.ts";
import { type PackageType, packageLabels } from "../package-kinds.ts";
import { withTexts, writeStatus } from "../package-status.ts";
import { forgetPause, tellPaused } from "../pausing.ts";
import { planCollection } from "./collection.ts";
import { desiredRevision, secretName } from "./desired-revision.ts";
import { healthOf, installationOf, unpackingFailed } from "./package-health.ts";
import { type PackagePorts, packageFieldManagers } from "./package-manager-ports.ts";
import { handsOver, isAutomatic, planStates, type StatePlan, stateOf } from "./plan-states.ts";
import { type CurrentRevision, currentByDigest, currentByGeneration, numberOfCurrent } from "./revision-identity.ts";

const timeoutMs = 60_000;
const alwaysPollMs = 60_000;

const steps = {
  list: { reason: "ListRevision", text: "cannot list revisions for package" },
  unpack: { reason: "UnpackPackage", text: "cannot unpack package" },
  transition: { reason: "TransitionRevision", text: "cannot transition package revision" },
  collect: { reason: "GarbageCollect", text: "cannot garbage collect old package revision" },
  install: { reason: "InstallPackageRevision", text: "cannot apply package revision" },
} as const;

/** One pass over one package. */
interface PackagePass extends PackagePorts {
  readonly type: PackageType;
  readonly package: KubeObject;
  readonly signal: AbortSignal;
  /** Several revisions of this package may be active. */
  readonly isRollout: boolean;
  readonly isFunction: boolean;
}

/** Keeps the revisions of a package: fetches it, makes what it points to the current revision, and decides who is active. */
export async function reconcilePackage(
  ports: PackagePorts,
  type: PackageType,
  { key, stopping }: { readonly key: ObjectKey; readonly stopping: AbortSignal },
): Promise<ReconcileResult> {
  const signal = AbortSignal.any([stopping, AbortSignal.timeout(timeoutMs)]);
  const found = await ports.client.get(type.package, key, { signal });
  if (found === undefined) return {};
  const isFunction = type.kind === "Function";
  const isRollout = isFunction && ports.features.functionRevisionSelectors;
  const pass: PackagePass = { ...ports, type, package: found, signal, isFunction, isRollout };
  // A function under development is run where its annotations say; it has no package to fetch.
  if (isFunction && ports.features.developmentFunctions && isUnderDevelopment(found)) return {};
  if (isPaused(found)) await tellPaused(ports, found, signal);
  else if (saysPaused(found)) await forgetPause(ports, found, signal);
  else if (!isDeleted(found)) return tellingFailure(pass);
  return {};
}

function isUnderDevelopment(found: KubeObject): boolean {
  return developmentOf(found as unknown as JsonObject) !== undefined;
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
  const resolved = await resolve(pass, request);
  const identity = {
    packageName: pass.package.metadata.name ?? "",
    digest: resolved.digest,
    generation: pass.package.metadata.generation ?? 0,
  };
  const current = (pass.isRollout ? currentByDigest : currentByGeneration)(identity, revisions);
  const number = numberOfCurrent(current, revisions);
  const plan = planStates({ ...pass, revisions, current, number });
  if (!handsOver(pass)) await deactivate(pass, revisions, plan.inactive);
  await collect(pass, revisions, current.name);
  const stored = await applyCurrent(pass, { current, number, resolved, desiredState: plan.current });
  if (handsOver(pass)) await transition(pass, revisions, plan);
  await report(pass, { stored, resolved, active: plan.active });
  return request.pullPolicy === "Always" ? { requeueAfterMs: alwaysPollMs } : {};
}

/** Looks the reference up and reads the package once, so that what is none makes no revision. */
async function resolve(pass: PackagePass, request: PackageRequest): Promise<ResolvedPackage> {
  try {
    return await attempt(steps.unpack, async () => {
      const resolved = await pass.packages.resolve(request);
      await pass.packages.contents(resolved, request);
      return resolved;
    });
  } catch (error) {
    await store(pass, withTexts(pass.clock, pass.package, unpackingFailed(textOf(error))));
    throw error;
  }
}

async function deactivate(
  pass: PackagePass,
  revisions: readonly KubeObject[],
  names: readonly string[],
): Promise<void> {
  for (const name of names) {
    const revision = revisions.find(({ metadata }) => metadata.name === name);
    if (revision !== undefined && textAt(revision, ["spec", "desiredState"]) === "Active") {
      await setState(pass, revision, "Inactive");
    }
  }
}

async function transition(pass: PackagePass, revisions: readonly KubeObject[], plan: StatePlan): Promise<void> {
  for (const name of plan.active) {
    const revision = revisions.find(({ metadata }) => metadata.name === name);
    if (
      revision !== undefined &&
      !(isNamed(pass, revision) && textAt(revision, ["spec", "desiredState"]) === "Active")
    ) {
      await setState(pass, withOwnSecret(pass, revision), "Active");
    }
  }
  await deactivate(pass, revisions, plan.inactive);
}

/** Where several revisions are active each has a certificate of its own, also one that was made when there was only one. */
function withOwnSecret(pass: PackagePass, revision: KubeObject): KubeObject {
  if (isNamed(pass, revision)) return revision;
  const name = secretName(revision.metadata.name ?? "", "-tls-server");
  return withMember(revision, ["spec", "tlsServerSecretName"], name);
}

function isNamed({ isRollout, hasRuntime }: PackagePass, revision: KubeObject): boolean {
  if (!isRollout || !hasRuntime.Function) return true;
  const own = secretName(revision.metadata.name ?? "", "-tls-server");
  return textAt(revision, ["spec", "tlsServerSecretName"]) === own;
}

async function setState({ client, signal }: PackagePass, revision: KubeObject, state: string): Promise<void> {
  const changed = withMember(revision, ["spec", "desiredState"], state);
  await attempt(steps.transition, () => client.update(changed, { fieldManager: packageFieldManagers.update, signal }));
}

async function collect(pass: PackagePass, revisions: readonly KubeObject[], current: string): Promise<void> {
  const limit = memberAt(pass.package, ["spec", "revisionHistoryLimit"]);
  const isGuarded = pass.type.kind === "Function";
  const historyLimit = typeof limit === "number" ? limit : 0;
  const states = revisions.map(stateOf);
  const input = { revisions: states, current, historyLimit, isGuarded, inUse: new Set<string>() };
  if (planCollection(input).action === "none") return;
  const inUse = isGuarded ? await pass.revisionsInUse(revisions, pass.signal) : input.inUse;
  const plan = planCollection({ ...input, inUse });
  if (plan.action === "blocked") {
    tellWarning(
      pass,
      steps.collect.reason,
      "no old revision can be collected: each is active or named by a composition",
    );
  }
  if (plan.action !== "delete") return;
  await attempt(steps.collect, () =>
    pass.client.delete({ ...pass.type.revision, name: plan.name }, { signal: pass.signal }),
  );
}

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

async function report(
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
  const told = { ...pass.package, status } as KubeObject;
  await store(pass, withTexts(pass.clock, told, [installationOf(stored), health]));
}

function namesOfActive(current: KubeObject, older: readonly string[]): readonly string[] {
  const isActive = textAt(current, ["spec", "desiredState"]) === "Active";
  return [...(isActive ? [current.metadata.name ?? ""] : []), ...older];
}

function store({ client, package: before, signal }: PackagePass, after: KubeObject): Promise<void> {
  return writeStatus(client, { before, after, signal });
}

function tellWarning({ events, package: owner, signal }: PackagePass, reason: string, message: string): void {
  if (!signal.aborted) events.event(owner, { type: "Warning", reason, message });
}
