// SPDX-License-Identifier: Apache-2.0

import { attempt } from "@purlin/kube-controller";
import type { KubeObject } from "@purlin/kube-objects/object";
import type { ResolvedPackage } from "../fetch/package-client.ts";
import { desiredRevision } from "./desired-revision.ts";
import { packageFieldManagers } from "./package-manager-ports.ts";
import { type PackagePass, steps } from "./package-pass.ts";
import { isAutomatic } from "./plan-states.ts";
import type { CurrentRevision } from "./revision-identity.ts";

/** Makes the current revision what the package says. One that belongs to somebody else is not taken over. */
export async function applyCurrent(
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
