// SPDX-License-Identifier: Apache-2.0

import { attempt, isReconcileFailure, type ReconcileResult } from "@purlin/kube-controller";
import { isConflict, isNotFound } from "@purlin/kube-objects";
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
import { unregisterPackage } from "../lock/register.ts";
import { packageFieldManagers } from "../manager/package-manager-ports.ts";
import { type PackageType, packageFinalizers } from "../package-kinds.ts";
import { passSignals } from "../pass-signals.ts";
import { forgetPause, tellPaused } from "../pausing.ts";
import { fetchContents, incompatibility } from "./fetch-contents.ts";
import { installObjects, releaseObjects } from "./install-objects.ts";
import { addPackageLabels } from "./package-labels.ts";
import { resolveDependencies } from "./resolve-dependencies.ts";
import { type RevisionPass, steps } from "./revision-pass.ts";
import type { RevisionPorts } from "./revision-ports.ts";
import { tellHealthy, tellUnhealthy } from "./tell-revision.ts";

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
