// SPDX-License-Identifier: Apache-2.0

import { attempt } from "@purlin/kube-controller";
import { isNotFound } from "@purlin/kube-objects";
import { type KubeObject, memberAt } from "@purlin/kube-objects/object";
import { planCollection } from "./collection.ts";
import { type PackagePass, steps, tellWarning } from "./package-pass.ts";
import { stateOf } from "./plan-states.ts";

/** Removes the oldest revision that nobody needs, where there are more than the history has room for. */
export async function collectRevisions(
  pass: PackagePass,
  revisions: readonly KubeObject[],
  current: string,
): Promise<void> {
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
  const lowest = revisions.find(({ metadata }) => metadata.name === plan.name);
  if (lowest !== undefined) await attempt(steps.collect, () => remove(pass, lowest, isGuarded));
}

/** Where it matters what the revision does, it must be as it was when we looked; the server refuses otherwise. */
async function remove(
  { client, type, signal }: PackagePass,
  { metadata }: KubeObject,
  isGuarded: boolean,
): Promise<void> {
  const { name = "", uid = "", resourceVersion = "" } = metadata;
  const preconditions = isGuarded ? { uid, resourceVersion } : { uid };
  try {
    await client.delete({ ...type.revision, name }, { preconditions, signal });
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}
