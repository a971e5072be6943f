// SPDX-License-Identifier: Apache-2.0

import { isNoMatch } from "@purlin/kube-client";
import type { ReconcileContext } from "@purlin/kube-controller";
import { ignoreNotFound, isAlreadyExists, textOf } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { type KubeObject, keyOf, objectAt, objectsAt, stringAt, textAt, textMapAt } from "@purlin/kube-objects/object";
import { kinds } from "../kinds.ts";
import { createPod, podFromTemplate } from "../pods/new-pod.ts";
import { revisionLabel } from "../revisions/revisions.ts";
import { fieldManager, type SimulatorDeps, simulatedMark } from "../simulator-deps.ts";

/** One Pod of a StatefulSet. */
export interface Member {
  readonly deps: SimulatorDeps;
  readonly context: ReconcileContext;
  readonly set: KubeObject;
  readonly ordinal: number;
  readonly revision: string;
  readonly template: JsonObject;
}

/** The ordinal in the name of a Pod; -1 when it has none. */
export function ordinalOf({ metadata }: KubeObject): number {
  const [, ordinal] = /-(\d+)$/.exec(metadata.name ?? "") ?? [];
  return ordinal === undefined ? -1 : Number(ordinal);
}

/** Creates a Pod after its claims. */
export async function createMember(member: Member): Promise<void> {
  const { deps, context, set, ordinal, revision, template } = member;
  const name = `${set.metadata.name ?? ""}-${ordinal}`;
  const labels = {
    [revisionLabel]: revision,
    "statefulset.kubernetes.io/pod-name": name,
    "apps.kubernetes.io/pod-index": String(ordinal),
  };
  const spec = podSpec(member, name);
  try {
    for (const claim of objectsAt(set, ["spec", "volumeClaimTemplates"])) await createClaim(member, claim, name);
    await createPod(deps, podFromTemplate(set, template, { name: { name }, labels, spec }));
    context.emit({
      reason: "SuccessfulCreate",
      message: `create Pod ${name} in StatefulSet ${set.metadata.name ?? ""} successful`,
    });
  } catch (error) {
    if (isAlreadyExists(error)) return;
    const message = `create Pod ${name} in StatefulSet ${set.metadata.name ?? ""} failed error: ${textOf(error)}`;
    context.emit({ type: "Warning", reason: "FailedCreate", message });
    throw error;
  }
}

function podSpec({ set, template }: Member, name: string): JsonObject {
  const spec = objectAt(template, ["spec"]);
  const claims = objectsAt(set, ["spec", "volumeClaimTemplates"]).map((claim) => stringAt(claim, ["metadata", "name"]));
  const volumes = claims.map((claim) => ({ name: claim, persistentVolumeClaim: { claimName: `${claim}-${name}` } }));
  const others = objectsAt(spec, ["volumes"]).filter((volume) => !claims.includes(stringAt(volume, ["name"])));
  const subdomain = textAt(set, ["spec", "serviceName"]);
  return {
    ...spec,
    hostname: name,
    ...(subdomain !== undefined && { subdomain }),
    ...(volumes.length + others.length > 0 && { volumes: [...volumes, ...others] }),
  };
}

async function createClaim({ deps, context, set }: Member, template: JsonObject, pod: string): Promise<void> {
  const name = `${stringAt(template, ["metadata", "name"])}-${pod}`;
  const { namespace = "" } = set.metadata;
  try {
    if ((await deps.client.get(kinds.claim, { namespace, name })) !== undefined) return;
    const labels = {
      ...textMapAt(template, ["metadata", "labels"]),
      ...textMapAt(set, ["spec", "selector", "matchLabels"]),
    };
    const annotations = { ...textMapAt(template, ["metadata", "annotations"]), ...simulatedMark };
    const claim = {
      ...kinds.claim,
      metadata: { name, namespace, labels, annotations },
      spec: objectAt(template, ["spec"]),
    };
    await deps.client.create(claim, { fieldManager });
    context.emit({
      reason: "SuccessfulCreate",
      message: `create Claim ${name} Pod ${pod} in StatefulSet ${set.metadata.name ?? ""} success`,
    });
  } catch (error) {
    if (!isAlreadyExists(error) && !isNoMatch(error)) throw error;
  }
}

/** Deletes a Pod; it is created again if it is still wanted. */
export async function deleteMember({ deps, context, set }: Member, pod: KubeObject): Promise<void> {
  const { uid = "", name = "" } = pod.metadata;
  await ignoreNotFound(deps.client.delete({ ...kinds.pod, ...keyOf(pod) }, { preconditions: { uid } }));
  context.emit({
    reason: "SuccessfulDelete",
    message: `delete Pod ${name} in StatefulSet ${set.metadata.name ?? ""} successful`,
  });
}
