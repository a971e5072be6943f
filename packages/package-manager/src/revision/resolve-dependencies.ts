// SPDX-License-Identifier: Apache-2.0

import { attempt } from "@purlin/kube-controller";
import { isDeleted, type KubeObject, textAt } from "@purlin/kube-objects/object";
import type { PackageContents } from "@purlin/oci";
import { entryOf } from "../lock/lock-entry.ts";
import { type DependencyCounts, registerPackage, unregisterPackage } from "../lock/register.ts";
import { numberOf } from "../manager/revision-identity.ts";
import { packageLabels } from "../package-kinds.ts";
import { findRivals, giveWay } from "./duplicate-packages.ts";
import { type RevisionPass, steps } from "./revision-pass.ts";

/** Enters the revision into the Lock and requires that what it needs is there, in versions that will do. */
export async function resolveDependencies(pass: RevisionPass, { meta }: PackageContents): Promise<void> {
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
