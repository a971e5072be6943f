// SPDX-License-Identifier: Apache-2.0
// Composed resources other than composite resources: managed resources of providers, and workloads with their Pods (E15, E16).

import type { JsonObject } from "@purlin/kube-objects/json";
import {
  controllerOf,
  groupOf,
  type KubeObject,
  labelOf,
  objectAt,
  objectsAt,
  stringAt,
} from "@purlin/kube-objects/object";
import {
  ageMs,
  argumentOf,
  condition,
  conditionEvidence,
  fieldEvidence,
  refOf,
  refText,
  unmet,
} from "../inspect/facts.ts";
import { found, type Inspection } from "../inspect/inspection.ts";
import type { Edge, Finding, NodeReport, ObjectRef } from "../model/explanation.ts";
import { deletionReport, refusedDeletion } from "./deletion.ts";
import { held, paused } from "./state.ts";

const providerMs = 60_000;
const crdType = { apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition" } as const;
const builtinGroups = new Set(["", "apps", "batch", "autoscaling", "policy"]);

/** The state of a composed resource. */
export async function composedReport(object: KubeObject, inspection: Inspection): Promise<NodeReport> {
  if (object.metadata.deletionTimestamp)
    return withProvider(await deletionReport(object, inspection), object, inspection);
  const own = paused(object) ?? held(object);
  if (own !== undefined) return { findings: [own] };
  const synced = unmet(object, "Synced");
  if (synced !== undefined) return { findings: [await externalError(object, inspection)] };
  const absent = await noProvider(object, inspection);
  if (absent !== undefined) return { findings: [absent] };
  const ready = unmet(object, "Ready") ?? unmet(object, "Available");
  if (ready === undefined) return { notes: (await refusedDeletion(object, inspection)) ?? [] };
  const pod = isBuiltin(object) ? podFinding(await podsOf(object, inspection)) : undefined;
  if (pod !== undefined) return { findings: [pod] };
  const text = [`${ready.type} is ${ready.status}`, ready.reason, ready.message ?? ""]
    .filter((part) => part !== "")
    .join(": ");
  return { waiting: [{ since: ready.lastTransitionTime, text }] };
}

/** A finalizer that stays is the provider's to remove: its state explains more. */
async function withProvider(report: NodeReport, object: KubeObject, inspection: Inspection): Promise<NodeReport> {
  const [finding] = report.findings ?? [];
  const edge = finding?.code === "E57" ? await providerEdge(object, inspection) : undefined;
  if (finding === undefined || edge === undefined) return report;
  const own = {
    sentence: `${finding.sentence}, of ${refText(edge.to)}`,
    next: [`purlin explain ${argumentOf(edge.to)}`, ...finding.next],
    waitsFor: [...(finding.waitsFor ?? []), edge],
  };
  return { ...report, findings: [{ ...finding, ...own }] };
}

function isBuiltin({ apiVersion }: KubeObject): boolean {
  return builtinGroups.has(groupOf(apiVersion));
}

async function podsOf(object: KubeObject, { reader }: Inspection): Promise<readonly KubeObject[]> {
  const labels = (
    object["spec"] as { readonly selector?: { readonly matchLabels?: Readonly<Record<string, string>> } } | undefined
  )?.selector?.matchLabels;
  if (labels === undefined) return [];
  const labelSelector = Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .join(",");
  return (
    (await reader.list({ apiVersion: "v1", kind: "Pod" }, { namespace: object.metadata.namespace, labelSelector })) ??
    []
  );
}

/** E49, E51: what a provider reports. */
async function externalError(object: KubeObject, inspection: Inspection): Promise<Finding> {
  const synced = condition(object, "Synced");
  const bad = synced ?? { type: "Synced", status: "False" as const, reason: "", lastTransitionTime: "" };
  const message = bad.message ?? bad.reason;
  const context = { object, condition: bad, evidence: [conditionEvidence(object, bad)] };
  const config =
    /ProviderConfig(?:\.\S+)?[^"]*"([^"]+)" not found|cannot get (?:referenced )?ProviderConfig[^"]*(?:"([^"]+)")?|cannot get (?:provider )?credentials|cannot extract credentials/i.exec(
      message,
    );
  if (config !== null) {
    const name = config[1] ?? config[2] ?? (stringAt(object, ["spec", "providerConfigRef", "name"]) || "default");
    const missing = /not found/i.test(message) && !/credentials/i.test(config[0]);
    return found("E51", context, {
      path: "spec.providerConfigRef",
      sentence: missing
        ? `ProviderConfig ${name} of ${refText(refOf(object))} does not exist`
        : `The credentials of ProviderConfig ${name} cannot be read: ${message}`,
      next: [missing ? `create ProviderConfig ${name}` : `create the Secret that ProviderConfig ${name} names`],
    });
  }
  const provider = await providerEdge(object, inspection);
  return found("E49", context, {
    sentence: `${refText(refOf(object))}: ${message}`,
    next: ["correct what the provider reports, often the credentials or the parameters"],
    waitsFor: provider === undefined ? [] : [provider],
  });
}

/** E50: no conditions and no finalizer: nothing reconciles it. */
async function noProvider(object: KubeObject, inspection: Inspection): Promise<Finding | undefined> {
  const { finalizers } = object.metadata;
  if (isBuiltin(object) || objectsAt(object, ["status", "conditions"]).length > 0 || (finalizers ?? []).length > 0)
    return undefined;
  if (ageMs(object, inspection.now) <= providerMs || !(await isManaged(object, inspection))) return undefined;
  const edge = await providerEdge(object, inspection);
  const ref = refOf(object);
  return {
    code: "E50",
    object: ref,
    since: object.metadata.creationTimestamp ?? undefined,
    sentence: `${refText(ref)} is not reconciled: ${edge === undefined ? `no package installs ${ref.kind}` : `${refText(edge.to)} does not run`}`,
    evidence: [
      fieldEvidence(object, "status.conditions", "none"),
      fieldEvidence(object, "metadata.finalizers", "none"),
    ],
    next: [edge === undefined ? `install the provider of ${ref.kind}` : `purlin explain ${argumentOf(edge.to)}`],
    ...(edge === undefined ? {} : { waitsFor: [edge] }),
  };
}

/** Whether a provider is to reconcile the kind: managed resources have a forProvider or a providerConfigRef. */
async function isManaged(object: KubeObject, { reader }: Inspection): Promise<boolean> {
  const spec = object["spec"];
  if (typeof spec === "object" && spec !== null && ("forProvider" in spec || "providerConfigRef" in spec)) return true;
  const crd = await crdOf(object, reader);
  return (
    crd !== undefined &&
    (
      (crd["spec"] as { readonly names?: { readonly categories?: readonly string[] } }).names?.categories ?? []
    ).includes("managed")
  );
}

async function crdOf(object: ObjectRefLike, reader: Inspection["reader"]): Promise<KubeObject | undefined> {
  const all = (await reader.list(crdType)) ?? [];
  return all.find(
    (crd) =>
      stringAt(crd, ["spec", "names", "kind"]) === object.kind &&
      stringAt(crd, ["spec", "group"]) === groupOf(object.apiVersion),
  );
}

type ObjectRefLike = Pick<ObjectRef, "apiVersion" | "kind">;

/** The Provider whose package installed the CRD of a resource. */
async function providerEdge(object: KubeObject, { reader }: Inspection): Promise<Edge | undefined> {
  const crd = await crdOf(object, reader);
  const owner = crd && controllerOf(crd);
  if (owner?.kind !== "ProviderRevision") return undefined;
  const revision = await reader.find({ apiVersion: owner.apiVersion, kind: owner.kind, name: owner.name });
  const name = revision && labelOf(revision, "pkg.crossplane.io/package");
  if (name === undefined) return undefined;
  return { to: { apiVersion: owner.apiVersion, kind: "Provider", name }, via: `CRD ${crd?.metadata.name ?? ""}` };
}

/** The first problem of some Pods. */
export function podFinding(pods: readonly KubeObject[]): Finding | undefined {
  for (const pod of pods) {
    for (const container of [
      ...objectsAt(pod, ["status", "initContainerStatuses"]),
      ...objectsAt(pod, ["status", "containerStatuses"]),
    ]) {
      const finding = imagePull(pod, container) ?? crashing(pod, container);
      if (finding !== undefined) return finding;
    }
  }
  return undefined;
}

function imagePull(pod: KubeObject, container: JsonObject): Finding | undefined {
  const reason = stringAt(container, ["state", "waiting", "reason"]);
  if (!["ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull"].includes(reason)) return undefined;
  const message = stringAt(container, ["state", "waiting", "message"]);
  return {
    code: "E16",
    object: refOf(pod),
    path: "status.containerStatuses",
    since: pod.metadata.creationTimestamp ?? undefined,
    sentence: `${refText(refOf(pod))}: the node cannot pull ${stringAt(container, ["image"])}: ${message || reason}`,
    evidence: [
      fieldEvidence(pod, "status.containerStatuses[].state.waiting", [reason, message].filter(Boolean).join(": ")),
    ],
    next: ["check the image name and the pull secret"],
  };
}

function crashing(pod: KubeObject, container: JsonObject): Finding | undefined {
  const waiting = stringAt(container, ["state", "waiting", "reason"]);
  const ended = objectAt(container, ["state", "terminated"]);
  const last = Object.keys(ended).length > 0 ? ended : objectAt(container, ["lastState", "terminated"]);
  const reason = stringAt(last, ["reason"]);
  if (waiting !== "CrashLoopBackOff" && reason !== "OOMKilled" && reason !== "Error") return undefined;
  const code = last["exitCode"];
  const message = stringAt(last, ["message"]).trim();
  const detail = [reason, typeof code === "number" ? `exit code ${code}` : "", message]
    .filter((part) => part !== "")
    .join(", ");
  const { name = "", namespace = "default" } = pod.metadata;
  return {
    code: "E15",
    object: refOf(pod),
    path: "status.containerStatuses",
    since: stringAt(last, ["finishedAt"]) || undefined,
    sentence: `${refText(refOf(pod))} crashes: container ${stringAt(container, ["name"])}: ${detail || waiting}`,
    evidence: [fieldEvidence(pod, "status.containerStatuses[].lastState.terminated", detail || waiting)],
    next: [`kubectl logs -n ${namespace} ${name} --previous`],
  };
}
