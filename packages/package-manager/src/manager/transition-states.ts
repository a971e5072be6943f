// SPDX-License-Identifier: Apache-2.0

import { attempt } from "@purlin/kube-controller";
import { type KubeObject, textAt, withMember } from "@purlin/kube-objects/object";
import { packageFieldManagers } from "../package-deps.ts";
import { secretName } from "./desired-revision.ts";
import { type PackageContext, steps } from "./package-context.ts";
import type { StatePlan } from "./plan-states.ts";

/** Sets Active revisions to Inactive. */
export async function deactivate(
  context: PackageContext,
  revisions: readonly KubeObject[],
  names: readonly string[],
): Promise<void> {
  for (const name of names) {
    const revision = revisions.find(({ metadata }) => metadata.name === name);
    if (revision !== undefined && textAt(revision, ["spec", "desiredState"]) === "Active") {
      await setState(context, revision, "Inactive");
    }
  }
}

/** Activates the older revisions of the plan, then deactivates the others. */
export async function transition(
  context: PackageContext,
  revisions: readonly KubeObject[],
  plan: StatePlan,
): Promise<void> {
  for (const name of plan.active) {
    const revision = revisions.find(({ metadata }) => metadata.name === name);
    if (
      revision !== undefined &&
      !(isNamed(context, revision) && textAt(revision, ["spec", "desiredState"]) === "Active")
    ) {
      await setState(context, withOwnSecret(context, revision), "Active");
    }
  }
  await deactivate(context, revisions, plan.inactive);
}

/** Where several revisions are active each has a certificate of its own, also one that was made when there was only one. */
function withOwnSecret(context: PackageContext, revision: KubeObject): KubeObject {
  if (isNamed(context, revision)) return revision;
  const name = secretName(revision.metadata.name ?? "", "-tls-server");
  return withMember(revision, ["spec", "tlsServerSecretName"], name);
}

function isNamed({ isRollout, hasRuntime }: PackageContext, revision: KubeObject): boolean {
  if (!isRollout || !hasRuntime.Function) return true;
  const own = secretName(revision.metadata.name ?? "", "-tls-server");
  return textAt(revision, ["spec", "tlsServerSecretName"]) === own;
}

async function setState({ client, signal }: PackageContext, revision: KubeObject, state: string): Promise<void> {
  const changed = withMember(revision, ["spec", "desiredState"], state);
  await attempt(steps.transition, () => client.update(changed, { fieldManager: packageFieldManagers.update, signal }));
}
