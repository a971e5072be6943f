// SPDX-License-Identifier: Apache-2.0
import { isNoMatch } from "@purlin/kube-client";
import { ignoreNotFound, isAlreadyExists } from "@purlin/kube-objects/errors";
import { jsonEqual } from "@purlin/kube-objects/json";
import {
  controllerReference,
  type KubeObject,
  keyOf,
  memberAt,
  numberAt,
  objectAt,
  textMapAt,
} from "@purlin/kube-objects/object";
import { kinds } from "../kinds.ts";
import { templateHash, templateOf } from "../pods/pod.ts";
import { fieldManager, type SimulatorDeps, simulatedMark } from "../simulator-deps.ts";

/** The label by which Pods of DaemonSets and StatefulSets name their revision. */
export const revisionLabel = "controller-revision-hash";
const hashLabel = "controller.kubernetes.io/hash";

/** The revisions of a workload. */
export interface Revisions {
  /** That of the current template. */
  readonly update: KubeObject;
  /** All of them, oldest first. */
  readonly all: readonly KubeObject[];
}

/** Brings the revisions of a workload up to date: the one of its current template has the highest number. */
export async function syncRevisions(deps: SimulatorDeps, workload: KubeObject): Promise<Revisions> {
  const { namespace, uid = "" } = workload.metadata;
  const proposed = newRevision(workload);
  const listed = await deps.client
    .list(kinds.controllerRevision, { namespace, controller: uid })
    .catch((error: unknown) => (isNoMatch(error) ? undefined : Promise.reject(error)));
  // A server without this kind keeps no history.
  if (listed === undefined) return { update: proposed, all: [proposed] };
  const all = listed.toSorted((a, b) => numberOf(a) - numberOf(b));
  const equal = all.findLast((one) => jsonEqual(memberAt(one, ["data"]) ?? null, memberAt(proposed, ["data"]) ?? null));
  if (equal !== undefined && equal === all.at(-1)) return { update: equal, all };
  const revision = numberOf(all.at(-1)) + 1;
  const stored =
    equal === undefined
      ? await create(deps, { ...proposed, revision })
      : await deps.client.update({ ...equal, revision }, { fieldManager });
  return { update: stored, all: [...all.filter((one) => one !== equal), stored] };
}

function numberOf(revision: KubeObject | undefined): number {
  return revision === undefined ? 0 : numberAt(revision, ["revision"]);
}

async function create({ client }: SimulatorDeps, revision: KubeObject): Promise<KubeObject> {
  try {
    return await client.create(revision, { fieldManager });
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    return client.live.get(kinds.controllerRevision, keyOf(revision));
  }
}

function newRevision(workload: KubeObject): KubeObject {
  const template = templateOf(workload);
  const hash = templateHash(template, numberAt(workload, ["status", "collisionCount"]));
  const { name = "", namespace = "" } = workload.metadata;
  const label = workload.kind === kinds.statefulSet.kind ? hashLabel : revisionLabel;
  const labels = { ...textMapAt(template, ["metadata", "labels"]), [label]: hash };
  return {
    ...kinds.controllerRevision,
    metadata: {
      name: `${name}-${hash}`,
      namespace,
      labels,
      annotations: simulatedMark,
      ownerReferences: [controllerReference(workload)],
    },
    data: { spec: { template: { ...template, $patch: "replace" } } },
    revision: 1,
  };
}

/** Deletes the oldest revisions that nothing uses, beyond the history that is kept. */
export async function dropRevisions(
  { client }: SimulatorDeps,
  workload: KubeObject,
  { all, live }: { readonly all: readonly KubeObject[]; readonly live: ReadonlySet<string> },
): Promise<void> {
  const limit = memberAt(workload, ["spec", "revisionHistoryLimit"]);
  const unused = all.filter(({ metadata }) => !live.has(metadata.name ?? ""));
  if (typeof limit !== "number" || unused.length <= limit) return;
  for (const revision of unused.slice(0, unused.length - limit)) {
    await ignoreNotFound(client.delete({ ...kinds.controllerRevision, ...keyOf(revision) }));
  }
}

/** The template that a revision recorded. */
export function templateIn(revision: KubeObject): ReturnType<typeof objectAt> {
  const { $patch: _patch, ...template } = objectAt(revision, ["data", "spec", "template"]);
  return template;
}
