// SPDX-License-Identifier: Apache-2.0
// The state of the reconciliation of an object.
import { humanDuration, isPaused, type KubeObject, saysPaused, stringAt } from "@purlin/kube-objects/object";
import {
  ageMs,
  ago,
  argumentOf,
  condition,
  conditionEvidence,
  elapsed,
  fieldEvidence,
  isTrue,
  refOf,
  refText,
  specChangedAt,
  unmet,
} from "../inspect/facts.ts";
import { found, type Healed, type Inspection, kindKey } from "../inspect/inspection.ts";
import type { Finding } from "../model/explanation.ts";

const pausedAnnotation = "crossplane.io/paused";
const staleMs = 30_000;
const notReconciledMs = 10_000;
const leaseMs = 60_000;
const leaderLease = "crossplane-leader-election-core";

/** E08: the object is paused. */
export function paused(object: KubeObject): Finding | undefined {
  if (!isPaused(object) && !saysPaused(object)) return undefined;
  const synced = condition(object, "Synced");
  const ref = refOf(object);
  const annotated = object.metadata.annotations?.[pausedAnnotation];
  return {
    code: "E08",
    object: ref,
    path: `metadata.annotations["${pausedAnnotation}"]`,
    since: synced?.lastTransitionTime,
    sentence: `${refText(ref)} is paused`,
    evidence: [
      ...(synced === undefined ? [] : [conditionEvidence(object, synced)]),
      ...(annotated === undefined
        ? []
        : [fieldEvidence(object, `metadata.annotations["${pausedAnnotation}"]`, annotated)]),
    ],
    next: [`kubectl annotate ${argumentOf(ref)} ${pausedAnnotation}-`],
  };
}

/** E67: a change waits for approval. */
export function held(object: KubeObject): Finding | undefined {
  const one = condition(object, "Held");
  if (one?.status !== "True") return undefined;
  const hash = /purlin\.dev\/approve-plan=([0-9a-f]+)/.exec(one.message ?? "")?.[1];
  const approve = `kubectl annotate --overwrite ${argumentOf(refOf(object))} purlin.dev/approve-plan=${hash}`;
  return found(
    "E67",
    { object, condition: one, evidence: [conditionEvidence(object, one)] },
    {
      sentence: `${refText(refOf(object))} is held: ${one.message || one.reason}`,
      next: [hash === undefined ? "correct what the condition Held names" : approve],
    },
  );
}

/** E62: watch events are limited. */
export function circuitOpen(object: KubeObject): Finding | undefined {
  const one = unmet(object, "Responsive");
  if (one?.reason !== "WatchCircuitOpen") return undefined;
  const source = /Too many watch events from (.*?)\. Allowing/.exec(one.message ?? "")?.[1] ?? "one of its resources";
  return found(
    "E62",
    { object, condition: one, evidence: [conditionEvidence(object, one)] },
    {
      sentence: `${source} changes so often that reconciles of ${refText(refOf(object))} are limited`,
      next: [`find out what changes ${source}: ${watchCommand(source)}`],
    },
  );
}

/** The command that shows each change of an object that the condition Responsive names, with its writers. */
function watchCommand(source: string): string {
  const [, kind = "", name = "", namespace] = /^([^/ ]+)\/(\S+)(?: \(([^)]+)\))?$/.exec(source) ?? [];
  if (kind === "") return "kubectl get TYPE/NAME -w -o yaml --show-managed-fields";
  const where = namespace === undefined ? "" : ` -n ${namespace}`;
  return `kubectl get ${kind.toLowerCase()}/${name}${where} -w -o yaml --show-managed-fields`;
}

/** The generation that the conditions are about; undefined when they do not say. */
function observedGeneration(object: KubeObject): number | undefined {
  const one = condition(object, "Synced") ?? condition(object, "Ready");
  return one?.observedGeneration;
}

/** E10: the conditions are about an older generation. */
export function stale(object: KubeObject, { now }: Inspection): Finding | "young" | undefined {
  const observed = observedGeneration(object);
  const { generation = 0 } = object.metadata;
  if (observed === undefined || observed >= generation) return undefined;
  const synced = condition(object, "Synced");
  const isRunning = synced?.reason === "WaitingForFunction";
  const changed = elapsed(specChangedAt(object), now) ?? 0;
  if (isRunning || changed <= staleMs) return "young";
  if (unmet(object, "Responsive") !== undefined) return undefined;
  const ref = refOf(object);
  return {
    code: "E10",
    object: ref,
    path: "metadata.generation",
    since: specChangedAt(object),
    sentence: `Generation ${generation} of ${refText(ref)} is not reconciled yet; the status is of generation ${observed}, and the spec changed ${ago(specChangedAt(object), now)}`,
    evidence: synced === undefined ? [] : [conditionEvidence(object, synced)],
    next: [reconcileCommand(object)],
  };
}

/** E10: the reported cause no longer exists, and the status still shows it. */
export function notHealed(object: KubeObject, { healed, at }: Healed, { now }: Inspection): Finding | undefined {
  const age = elapsed(at, now);
  if (age === undefined || age <= staleMs) return undefined;
  const ref = refOf(object);
  const synced = condition(object, "Synced");
  return {
    code: "E10",
    object: ref,
    since: at ?? undefined,
    sentence: `${refText(ref)} was not reconciled after its cause was resolved ${ago(at, now)}; it was: ${healed}`,
    evidence: synced === undefined ? [] : [conditionEvidence(object, synced)],
    next: [reconcileCommand(object)],
  };
}

/** The command that requests a reconcile. */
export function reconcileCommand(object: KubeObject): string {
  return `kubectl annotate --overwrite ${argumentOf(refOf(object))} crossplane.io/reconcile-requested-at=$(date +%s)`;
}

/** E09, E65: no control plane reconciles the object. `young` is one that was just created, or whose first reconcile has not ended. */
export async function notReconciled(
  object: KubeObject,
  inspection: Inspection,
): Promise<Finding | "young" | undefined> {
  const hasStatus = condition(object, "Synced") !== undefined || condition(object, "Ready") !== undefined;
  if (hasStatus) return undefined;
  if ((object.metadata.finalizers ?? []).length > 0) return "young";
  if (ageMs(object, inspection.now) <= notReconciledMs) return "young";
  const ref = refOf(object);
  const { why, next, code = "E09" } = await whyNotReconciled(object, inspection);
  return {
    code,
    object: ref,
    since: object.metadata.creationTimestamp ?? undefined,
    sentence: `${refText(ref)} is not reconciled: ${why}`,
    evidence: [fieldEvidence(object, "status", "no conditions"), fieldEvidence(object, "metadata.finalizers", "none")],
    next: [next],
    waitsFor: definitionEdge(object, inspection),
  };
}

function definitionEdge(object: KubeObject, { kinds }: Inspection): Finding["waitsFor"] & object {
  const defined = kinds.get(kindKey(object));
  return defined === undefined ? [] : [{ to: refOf(defined.definition) }];
}

interface Absence {
  readonly why: string;
  readonly next: string;
  readonly code?: "E09" | "E65";
}

async function whyNotReconciled(object: KubeObject, inspection: Inspection): Promise<Absence> {
  const defined = inspection.kinds.get(kindKey(object));
  if (defined !== undefined && !isTrue(defined.definition, "Established")) {
    const name = defined.definition.metadata.name ?? "";
    return {
      why: `CompositeResourceDefinition ${name} is not established`,
      next: `purlin explain compositeresourcedefinition/${name}`,
    };
  }
  const lease = await leaseState(inspection);
  if (lease !== undefined) return lease;
  return {
    why: "no control plane is running for its kind",
    next: "start the control plane: purlin up, or purlin start on a cluster",
  };
}

const leaseType = { apiVersion: "coordination.k8s.io/v1", kind: "Lease" } as const;

async function leaseState({ reader, systemNamespace, now }: Inspection): Promise<Absence | undefined> {
  const lease = await reader.find({ ...leaseType, name: leaderLease, namespace: systemNamespace });
  if (lease === undefined) return undefined;
  const age = elapsed(stringAt(lease, ["spec", "renewTime"]), now);
  const holder = stringAt(lease, ["spec", "holderIdentity"]);
  const where = `Lease ${systemNamespace}/${leaderLease}`;
  if (age !== undefined && age > leaseMs) {
    return {
      why: `no control plane is running: ${where} was renewed ${humanDuration(age)} ago by ${holder || "no process"}`,
      next: "start the control plane: purlin start",
    };
  }
  const rival = await secondControlPlane(reader, systemNamespace);
  if (rival === undefined) return undefined;
  return {
    code: "E65",
    why: `${rival} also runs; ${where} is held by ${holder}`,
    next: `kubectl -n ${systemNamespace} scale deployment crossplane --replicas=0`,
  };
}

async function secondControlPlane(reader: Inspection["reader"], namespace: string): Promise<string | undefined> {
  const type = { apiVersion: "apps/v1", kind: "Deployment" };
  const all = (await reader.list(type, { namespace, labelSelector: "app=crossplane" })) ?? [];
  const live = all.filter(
    (one) => Number((one["status"] as { readonly readyReplicas?: number } | undefined)?.readyReplicas ?? 0) > 0,
  );
  return live.length > 1 || live.some(({ metadata }) => metadata.name === "crossplane")
    ? `Deployment ${namespace}/${live[0]?.metadata.name ?? ""} (Crossplane)`
    : undefined;
}
