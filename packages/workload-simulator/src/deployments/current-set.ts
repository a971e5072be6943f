// SPDX-License-Identifier: Apache-2.0
import type { ReconcileContext } from "@purlin/kube-controller";
import { isAlreadyExists, textOf } from "@purlin/kube-objects/errors";
import { type JsonObject, jsonEqual } from "@purlin/kube-objects/json";
import {
  annotationOf,
  conditionsOf,
  controllerOf,
  controllerReference,
  type KubeObject,
  memberAt,
  numberAt,
  objectAt,
  textMapAt,
  withMember,
} from "@purlin/kube-objects/object";
import { kinds } from "../kinds.ts";
import { type ConditionClaim, setCondition } from "../owned/claim-children.ts";
import { replicasOf, templateHash, templateOf } from "../pods/pod.ts";
import { fieldManager, type SimulatorDeps, simulatedMark } from "../simulator-deps.ts";
import {
  byAge,
  desiredAnnotation,
  maxAnnotation,
  nextSize,
  progressDeadlineMs,
  type Rollout,
  revisionAnnotation,
  sizeAnnotations,
} from "./rollout.ts";

const hashLabel = "pod-template-hash";
const historyAnnotation = "deployment.kubernetes.io/revision-history";
const maxHistoryLength = 2000;
const notCopied = new Set([
  "kubectl.kubernetes.io/last-applied-configuration",
  revisionAnnotation,
  historyAnnotation,
  desiredAnnotation,
  maxAnnotation,
  "deprecated.deployment.rollback.to",
]);

/** Identifies the ReplicaSet of the current template. */
export function splitSets(deployment: KubeObject, sets: readonly KubeObject[]): Pick<Rollout, "current" | "old"> {
  const template = templateOf(deployment);
  const sorted = sets.toSorted(byAge);
  const current = sorted.find((set) => jsonEqual(withoutHash(templateOf(set)), withoutHash(template)));
  return { current, old: sorted.filter((set) => set !== current) };
}

function withoutHash(template: JsonObject): JsonObject {
  return withMember(template, ["metadata", "labels", hashLabel], undefined);
}

/** The revision of a ReplicaSet. */
export function revisionOf(set: KubeObject): number {
  return Number(annotationOf(set, revisionAnnotation) ?? 0) || 0;
}

/** A Deployment and its ReplicaSets after revisions are in order. */
export type Synced = Pick<Rollout, "deployment" | "current" | "old">;

/** Brings revisions and annotations up to date, and creates the ReplicaSet of the current template if asked. */
export async function syncRevision(
  deps: SimulatorDeps,
  context: ReconcileContext,
  options: Synced & { readonly creates: boolean },
): Promise<Synced> {
  const { deployment, current, old, creates } = options;
  const revision = Math.max(0, ...old.map(revisionOf)) + 1;
  if (current === undefined && !creates) return { deployment, current, old };
  if (current === undefined) return createSet(deps, context, { deployment, old, revision });
  const updated = await updateSet(deps, current, { deployment, revision });
  const claim = {
    reason: "FoundNewReplicaSet",
    message: `Found new replica set ${JSON.stringify(updated.metadata.name)}`,
  };
  const hasCondition = conditionsOf(deployment).some(({ type }) => type === "Progressing");
  const noted = withRevision(deployment, updated);
  return {
    deployment: await store(deps, deployment, hasCondition ? noted : withProgress(deps, noted, claim)),
    current: updated,
    old,
  };
}

async function updateSet(
  deps: SimulatorDeps,
  set: KubeObject,
  { deployment, revision }: { readonly deployment: KubeObject; readonly revision: number },
): Promise<KubeObject> {
  const annotations = annotationsOf(deployment, set, revision);
  const minReadySeconds = memberAt(deployment, ["spec", "minReadySeconds"]);
  const sized = withMember(set, ["spec", "minReadySeconds"], minReadySeconds || undefined);
  if (sized === set && jsonEqual(annotations, set.metadata.annotations ?? {})) return set;
  return deps.client.update({ ...sized, metadata: { ...set.metadata, annotations } }, { fieldManager });
}

/** The annotations of a ReplicaSet: those of its Deployment, and its revisions. */
function annotationsOf(
  deployment: KubeObject,
  set: KubeObject | undefined,
  revision: number,
): Readonly<Record<string, string>> {
  const copied = Object.entries(deployment.metadata.annotations ?? {}).filter(([name]) => !notCopied.has(name));
  const before = set?.metadata.annotations ?? {};
  const known = set === undefined ? 0 : revisionOf(set);
  const annotations: Record<string, string> = { ...before, ...Object.fromEntries(copied) };
  if (known >= revision) return annotations;
  annotations[revisionAnnotation] = String(revision);
  if (known > 0)
    annotations[historyAnnotation] = shortHistory([...(before[historyAnnotation]?.split(",") ?? []), String(known)]);
  return annotations;
}

function shortHistory(revisions: readonly string[]): string {
  const text = revisions.join(",");
  return text.length <= maxHistoryLength ? text : shortHistory(revisions.slice(1));
}

function withRevision(deployment: KubeObject, set: KubeObject): KubeObject {
  const revision = annotationOf(set, revisionAnnotation) ?? "";
  return withMember(deployment, ["metadata", "annotations", revisionAnnotation], revision);
}

function withProgress({ clock }: SimulatorDeps, deployment: KubeObject, text: Partial<ConditionClaim>): KubeObject {
  if (progressDeadlineMs(deployment) === undefined) return deployment;
  const claim: ConditionClaim = { type: "Progressing", status: "True", reason: "", message: "", ...text };
  const conditions = setCondition(conditionsOf(deployment), claim, { now: clock.now(), hasUpdateTime: true });
  return withMember(deployment, ["status", "conditions"], conditions);
}

/** Status and annotations of a Deployment in one write; none when nothing changed. */
async function store({ client }: SimulatorDeps, before: KubeObject, after: KubeObject): Promise<KubeObject> {
  if (jsonEqual(before, after)) return before;
  return client.update(after, { subresource: "status", fieldManager });
}

interface Creation {
  readonly deployment: KubeObject;
  readonly old: readonly KubeObject[];
  readonly revision: number;
}

async function createSet(deps: SimulatorDeps, context: ReconcileContext, creation: Creation): Promise<Synced> {
  const { deployment, old } = creation;
  const set = newSet(creation);
  const name = set.metadata.name ?? "";
  try {
    const created = await deps.client.create(set, { fieldManager });
    if (replicasOf(created) > 0) {
      const message = `Scaled up replica set ${name} from 0 to ${replicasOf(created)}`;
      context.emit({ reason: "ScalingReplicaSet", message });
    }
    const noted = withRevision(deployment, created);
    const claim = { reason: "NewReplicaSetCreated", message: `Created new replica set ${JSON.stringify(name)}` };
    return { deployment: await store(deps, deployment, withProgress(deps, noted, claim)), current: created, old };
  } catch (error) {
    if (isAlreadyExists(error)) await countCollision(deps, deployment, set);
    else await reportFailure(deps, context, { deployment, name, error });
    throw error;
  }
}

function newSet({ deployment, old, revision }: Creation): KubeObject {
  const template = templateOf(deployment);
  const hash = templateHash(template, numberAt(deployment, ["status", "collisionCount"]));
  const labels = { ...textMapAt(template, ["metadata", "labels"]), [hashLabel]: hash };
  const selector = objectAt(deployment, ["spec", "selector"]);
  const minReadySeconds = numberAt(deployment, ["spec", "minReadySeconds"]);
  return {
    ...kinds.replicaSet,
    metadata: {
      name: `${(deployment.metadata.name ?? "").slice(0, 252 - hash.length)}-${hash}`,
      namespace: deployment.metadata.namespace ?? "",
      labels,
      annotations: {
        ...annotationsOf(deployment, undefined, revision),
        ...sizeAnnotations(deployment),
        ...simulatedMark,
      },
      ownerReferences: [controllerReference(deployment)],
    },
    spec: {
      replicas: nextSize(deployment, old, 0),
      ...(minReadySeconds > 0 && { minReadySeconds }),
      selector: { ...selector, matchLabels: { ...textMapAt(selector, ["matchLabels"]), [hashLabel]: hash } },
      template: withMember(template, ["metadata", "labels"], labels),
    },
  };
}

/** Another object has the name: the next one is made from the hash and the number of collisions. */
async function countCollision(deps: SimulatorDeps, deployment: KubeObject, set: KubeObject): Promise<void> {
  const { name = "", namespace } = set.metadata;
  const existing = await deps.client.live.get(kinds.replicaSet, { name, namespace });
  const isOurs = controllerOf(existing)?.uid === deployment.metadata.uid;
  if (isOurs && jsonEqual(withoutHash(templateOf(existing)), withoutHash(templateOf(deployment)))) return;
  const count = numberAt(deployment, ["status", "collisionCount"]) + 1;
  await store(deps, deployment, withMember(deployment, ["status", "collisionCount"], count));
}

async function reportFailure(
  deps: SimulatorDeps,
  context: ReconcileContext,
  { deployment, name, error }: { readonly deployment: KubeObject; readonly name: string; readonly error: unknown },
): Promise<void> {
  const message = `Failed to create new replica set ${JSON.stringify(name)}: ${textOf(error)}`;
  const reason = "ReplicaSetCreateError";
  await store(deps, deployment, withProgress(deps, deployment, { status: "False", reason, message }));
  context.emit({ type: "Warning", reason, message });
}
