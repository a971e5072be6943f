// SPDX-License-Identifier: Apache-2.0
import { type DevelopmentFunction, type IgnoredDevelopment, trustedDevelopmentOf } from "@purlin/function-runner";
import { attempt, isReconcileFailure, type ReconcileResult } from "@purlin/kube-controller";
import { isConflict, type JsonObject } from "@purlin/kube-objects";
import { isDeleted, isPaused, type KubeObject, type ObjectKey, saysPaused, textAt } from "@purlin/kube-objects/object";
import { requestOf } from "../fetch/package-request.ts";
import { type PackageType, packageLabels } from "../package-kinds.ts";
import { passSignals } from "../pass-signals.ts";
import { forgetPause, tellPaused } from "../pausing.ts";
import { applyCurrent } from "./apply-current.ts";
import { collectRevisions } from "./collect-revisions.ts";
import type { PackagePorts } from "./package-manager-ports.ts";
import { type PackagePass, steps, tellWarning } from "./package-pass.ts";
import { handsOver, planStates } from "./plan-states.ts";
import { reportPackage } from "./report-package.ts";
import { reportDevelopment, reportIgnored } from "./report-source.ts";
import { resolvePackage } from "./resolve-package.ts";
import { numberOfCurrent } from "./revision-identity.ts";
import { deactivate, transition } from "./transition-states.ts";

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
  return trustedDevelopmentOf(found as unknown as JsonObject, developmentTrust);
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
