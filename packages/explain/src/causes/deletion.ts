// SPDX-License-Identifier: Apache-2.0
// Why an object that is being deleted still exists.
import { controllerOf, groupOf, type KubeObject, memberAt, stringAt } from "@purlin/kube-objects/object";
import { ago, argumentOf, elapsed, fieldEvidence, listed, referencesOf, refOf, refText } from "../inspect/facts.ts";
import type { Inspection } from "../inspect/inspection.ts";
import type { Edge, Finding, NodeReport, ObjectRef } from "../model/explanation.ts";

const finalizerMs = 120_000;
const attemptAnnotation = "usage.crossplane.io/deletion-attempt-with-policy";
const usageTypes = [
  { apiVersion: "protection.crossplane.io/v1beta1", kind: "Usage" },
  { apiVersion: "protection.crossplane.io/v1beta1", kind: "ClusterUsage" },
  { apiVersion: "apiextensions.crossplane.io/v1beta1", kind: "Usage" },
] as const;

/** What an object in deletion waits for. */
export async function deletionReport(object: KubeObject, inspection: Inspection): Promise<NodeReport> {
  const { deletionTimestamp, finalizers } = object.metadata;
  const since = deletionTimestamp ?? undefined;
  const used = await inUse(object, inspection);
  if (used !== undefined) return { findings: [used] };
  const children = referencesOf(object);
  const left = await stillThere(children, inspection);
  if ((finalizers ?? []).includes("foregroundDeletion") && left.length > 0) {
    return { findings: [(await dependentInUse(left, inspection)) ?? foreground(object, left, inspection)] };
  }
  const edges: readonly Edge[] = left.map((to) => ({ to }));
  const age = elapsed(deletionTimestamp, inspection.now) ?? 0;
  const text = `is being deleted, since ${ago(deletionTimestamp, inspection.now)}`;
  if (age <= finalizerMs || (finalizers ?? []).length === 0) return { waiting: [{ since, text }], edges };
  return { findings: [finalizer(object, edges, inspection)] };
}

async function stillThere(refs: readonly ObjectRef[], { reader }: Inspection): Promise<ObjectRef[]> {
  const reads = await Promise.all(refs.map((ref) => reader.read(ref)));
  return refs.filter((_, index) => reads[index]?.state === "found");
}

/** That a deletion of an object was refused, and still would be. */
export async function refusedDeletion(object: KubeObject, inspection: Inspection): Promise<NodeReport["notes"]> {
  if (object.metadata.annotations?.[attemptAnnotation] === undefined) return [];
  const finding = await inUse(object, inspection);
  if (finding === undefined) return [];
  // A note begins with its object.
  const text = finding.sentence.slice(refText(finding.object).length + 1);
  return [{ code: finding.code, text: `${text}; ${finding.next.join("; ")}` }];
}

/** E58: a dependent whose deletion was refused. */
async function dependentInUse(left: readonly ObjectRef[], inspection: Inspection): Promise<Finding | undefined> {
  const reads = await Promise.all(left.map((ref) => inspection.reader.read(ref)));
  for (const read of reads) {
    if (read.state !== "found" || read.object.metadata.annotations?.[attemptAnnotation] === undefined) continue;
    const finding = await inUse(read.object, inspection);
    if (finding !== undefined) return finding;
  }
  return undefined;
}

/** E58: a Usage protects the object. */
async function inUse(object: KubeObject, { reader }: Inspection): Promise<Finding | undefined> {
  const attempt = object.metadata.annotations?.[attemptAnnotation];
  const lists = await Promise.all(usageTypes.map((type) => reader.list(type)));
  const usage = lists.flatMap((all) => all ?? []).find((one) => isOf(one, object));
  if (usage === undefined) return undefined;
  const ref = refOf(object);
  const by = userText(usage);
  return {
    code: "E58",
    object: ref,
    since: object.metadata.deletionTimestamp ?? undefined,
    sentence: `${refText(ref)} cannot be deleted: ${refText(refOf(usage))} says that ${by}`,
    evidence: [
      fieldEvidence(
        usage,
        "spec.of",
        `${stringAt(usage, ["spec", "of", "kind"])} ${stringAt(usage, ["spec", "of", "resourceRef", "name"])}`,
      ),
      ...(attempt === undefined
        ? []
        : [fieldEvidence(object, `metadata.annotations["${attemptAnnotation}"]`, attempt)]),
    ],
    next: [`delete the object that uses it first, or the Usage: purlin delete ${argumentOf(refOf(usage))}`],
  };
}

function userText(usage: KubeObject): string {
  const reason = stringAt(usage, ["spec", "reason"]);
  const kind = stringAt(usage, ["spec", "by", "kind"]);
  return kind === ""
    ? reason || "it is in use"
    : `${kind} ${stringAt(usage, ["spec", "by", "resourceRef", "name"])} uses it`;
}

function isOf(usage: KubeObject, { apiVersion, kind, metadata }: KubeObject): boolean {
  const of = ["spec", "of"];
  const named = memberAt(usage, [...of, "resourceRef", "namespace"]);
  const namespace = typeof named === "string" ? named : (usage.metadata.namespace ?? "");
  if (namespace !== (metadata.namespace ?? "")) return false;
  const isKind =
    stringAt(usage, [...of, "kind"]) === kind &&
    groupOf(stringAt(usage, [...of, "apiVersion"])) === groupOf(apiVersion);
  return isKind && stringAt(usage, [...of, "resourceRef", "name"]) === metadata.name;
}

/** E59: dependents are deleted first. */
function foreground(object: KubeObject, left: readonly ObjectRef[], { now }: Inspection): Finding {
  const { deletionTimestamp } = object.metadata;
  return {
    code: "E59",
    object: refOf(object),
    since: deletionTimestamp ?? undefined,
    sentence: `${refText(refOf(object))} waits since ${ago(deletionTimestamp, now)} for the deletion of ${left.length} objects: ${listed(left.map(refText))}`,
    evidence: [fieldEvidence(object, "metadata.finalizers", "foregroundDeletion")],
    next: left.slice(0, 1).map((ref) => `purlin explain ${argumentOf(ref)}`),
    waitsFor: left.map((to) => ({ to })),
  };
}

/** E57: a finalizer is not removed. */
function finalizer(object: KubeObject, children: readonly Edge[], { now }: Inspection): Finding {
  const { deletionTimestamp, finalizers } = object.metadata;
  const names = (finalizers ?? []).join(", ");
  const owner = controllerOf(object);
  const waits = children.length > 0 ? `; ${children.length} of its resources still exist` : "";
  return {
    code: "E57",
    object: refOf(object),
    path: "metadata.finalizers",
    since: deletionTimestamp ?? undefined,
    sentence: `${refText(refOf(object))} waits since ${ago(deletionTimestamp, now)} for the controller of finalizer ${names}${waits}`,
    evidence: [fieldEvidence(object, "metadata.finalizers", names)],
    next: [
      `start the controller that owns ${names}${owner === undefined ? "" : `; the object belongs to ${owner.kind} ${owner.name}`}`,
    ],
    waitsFor: children,
  };
}
