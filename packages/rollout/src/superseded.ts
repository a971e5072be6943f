// SPDX-License-Identifier: Apache-2.0

import { compositionKinds, crossplaneLabels, functionRevisionType, packageLabel } from "@purlin/composition";
import { decidingRollout, type RolloutView, readRevision, readRollout } from "@purlin/function-runner";
import type { ControllerClient } from "@purlin/kube-controller";
import { type KubeObject, numberAt } from "@purlin/kube-objects/object";
import type { RolloutPlan } from "./plan.ts";
import type { FrozenSides, RolloutState } from "./state.ts";

/** The condition type of ended rollouts that keep composite resources from a newer revision. */
export const supersededType = "Superseded";

interface EndedRollout {
  readonly rollout: KubeObject;
  readonly plan: RolloutPlan;
  readonly state: RolloutState;
  readonly others: readonly RolloutView[];
}

interface Reading {
  readonly client: Pick<ControllerClient, "list">;
  readonly signal: AbortSignal;
}

/**
 * Says which newer revision no composite resource gets because an ended rollout still decides; undefined when there is none. An ended
 * rollout keeps deciding until it is deleted, and without this a later revision would be ignored in silence.
 */
export async function supersededText(ended: EndedRollout, reading: Reading): Promise<string | undefined> {
  const { plan, state } = ended;
  for (const sides of state.frozen) {
    if (!isDeciding(sides.name, ended)) continue;
    const left = state.phase === "Succeeded" ? sides.candidate : sides.stable;
    const newer =
      plan.composition === undefined
        ? await newerFunctionRevision(sides, left, reading)
        : await newerCompositionRevision(sides, left, reading);
    if (newer === undefined) continue;
    const [kind, flag] =
      plan.composition === undefined ? ["FunctionRevision", ""] : ["CompositionRevision", " --composition"];
    const what = `${kind} "${newer}" is newer than "${left}", where this rollout keeps composite resources until it is deleted`;
    return `${what}: start another rollout (purlin rollout start ${sides.name}${flag}), or delete this one to move all at once`;
  }
  return undefined;
}

/** A live rollout, or one that ended later, decides instead of this one. */
function isDeciding(name: string, { rollout, plan, others }: EndedRollout): boolean {
  const own = readRollout(rollout);
  const rivals = others.filter((one) =>
    plan.composition === undefined ? one.functions.has(name) : one.composition?.name === name,
  );
  return decidingRollout([own, ...rivals]) === own;
}

async function newerFunctionRevision(
  { name }: FrozenSides,
  left: string,
  { client, signal }: Reading,
): Promise<string | undefined> {
  const all = await client.list(functionRevisionType, { labels: { [packageLabel]: name }, signal });
  // A revision that is withheld was rejected, or waits for its own rollout.
  return newest(all, left, (one) => readRevision(one).isActive && !readRevision(one).isWithheld);
}

async function newerCompositionRevision(
  { name, candidate }: FrozenSides,
  left: string,
  { client, signal }: Reading,
): Promise<string | undefined> {
  const all = await client.list(compositionKinds.revision, {
    labels: { [crossplaneLabels.compositionName]: name },
    signal,
  });
  return newest(all, left, ({ metadata }) => metadata.name !== candidate);
}

function newest(
  all: readonly KubeObject[],
  left: string,
  isWanted: (revision: KubeObject) => boolean,
): string | undefined {
  const current = all.find(({ metadata }) => metadata.name === left);
  if (current === undefined) return undefined;
  const [first] = all
    .filter((one) => numberOf(one) > numberOf(current) && isWanted(one))
    .toSorted((a, b) => numberOf(b) - numberOf(a));
  return first?.metadata.name;
}

function numberOf(revision: KubeObject): number {
  return numberAt(revision, ["spec", "revision"]);
}
