// SPDX-License-Identifier: Apache-2.0

import { attempt } from "@purlin/kube-controller";
import { type KubeObject, textAt, withMember } from "@purlin/kube-objects/object";
import { secretName } from "./desired-revision.ts";
import { packageFieldManagers } from "./package-manager-ports.ts";
import { type PackagePass, steps } from "./package-pass.ts";
import type { StatePlan } from "./plan-states.ts";

/** Sets those of some revisions that are Active to Inactive. */
export async function deactivate(
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

/** Activates older revisions that the plan wants, then stops those that it does not. */
export async function transition(pass: PackagePass, revisions: readonly KubeObject[], plan: StatePlan): Promise<void> {
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
