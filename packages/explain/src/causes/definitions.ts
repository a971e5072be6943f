// SPDX-License-Identifier: Apache-2.0
// XRDs.
import { controllerOf, type KubeObject, stringAt } from "@purlin/kube-objects/object";
import {
  ageMs,
  ago,
  argumentOf,
  condition,
  conditionEvidence,
  isTrue,
  listed,
  refOf,
  refText,
  unmet,
} from "../inspect/facts.ts";
import { found, type Inspection, messageContext, referenceableType } from "../inspect/inspection.ts";
import type { Finding, NodeReport } from "../model/explanation.ts";
import { paused } from "./state.ts";

const crdType = { apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition" } as const;
const establishedMs = 30_000;

/** The state of an XRD. */
export async function definitionReport(xrd: KubeObject, inspection: Inspection): Promise<NodeReport> {
  if (xrd.metadata.deletionTimestamp) return deletingReport(xrd, inspection);
  const pause = paused(xrd);
  if (pause !== undefined) return { findings: [pause] };
  const synced = unmet(xrd, "Synced");
  if (synced !== undefined) return { findings: [await invalidDefinition(xrd, inspection)] };
  if (isTrue(xrd, "Established")) return {};
  if (ageMs(xrd, inspection.now) > establishedMs) return { findings: [await invalidDefinition(xrd, inspection)] };
  return { waiting: [{ since: xrd.metadata.creationTimestamp ?? undefined, text: "is not established yet" }] };
}

/** E60: the XRD is invalid, or its names are taken. */
async function invalidDefinition(xrd: KubeObject, inspection: Inspection): Promise<Finding> {
  const name = xrd.metadata.name ?? "";
  const bad = unmet(xrd, "Synced") ?? unmet(xrd, "Established");
  const taken = await takenName(xrd, inspection);
  const why = taken ?? bad?.message ?? "it is not established";
  const path = /(spec\.[\w.[\]"]+)/.exec(bad?.message ?? "")?.[1];
  const parts = {
    ...(path === undefined ? {} : { path }),
    sentence: `CompositeResourceDefinition ${name} cannot be used: ${why}`,
    next: [
      path === undefined
        ? `edit CompositeResourceDefinition ${name}`
        : `correct ${path} of CompositeResourceDefinition ${name}`,
    ],
  };
  if (bad !== undefined) return found("E60", messageContext(xrd, bad, inspection), parts);
  return {
    code: "E60",
    object: refOf(xrd),
    since: xrd.metadata.creationTimestamp ?? undefined,
    evidence: [],
    ...parts,
  };
}

/** Other definitions of the names of an XRD. */
async function takenName(xrd: KubeObject, { reader }: Inspection): Promise<string | undefined> {
  const crd = await reader.find({ ...crdType, name: xrd.metadata.name ?? "" });
  if (crd === undefined) return undefined;
  const owner = controllerOf(crd);
  if (owner !== undefined && owner.uid !== xrd.metadata.uid) {
    return `CustomResourceDefinition ${crd.metadata.name ?? ""} belongs to ${owner.kind} ${owner.name}`;
  }
  const accepted = condition(crd, "NamesAccepted");
  return accepted?.status === "False"
    ? `its names are not accepted: ${accepted.message ?? accepted.reason}`
    : undefined;
}

/** E61: instances are left. */
async function deletingReport(xrd: KubeObject, inspection: Inspection): Promise<NodeReport> {
  const since = xrd.metadata.deletionTimestamp ?? undefined;
  const type = referenceableType({ role: "composite", definition: xrd });
  const left = type === undefined ? [] : ((await inspection.reader.list(type)) ?? []);
  const established = condition(xrd, "Established");
  if (left.length === 0) return { waiting: [{ since, text: `is being deleted, since ${ago(since, inspection.now)}` }] };
  const scope = stringAt(xrd, ["spec", "scope"]) === "Namespaced" ? "namespaced " : "";
  const first = left[0];
  const finding: Finding = {
    code: "E61",
    object: refOf(xrd),
    since,
    sentence: `${refText(refOf(xrd))} is being deleted and ${left.length} ${scope}${type?.kind ?? ""} objects are left: ${listed(left.map((one) => refText(refOf(one))))}`,
    evidence: established === undefined ? [] : [conditionEvidence(xrd, established)],
    next: first === undefined ? [] : [`purlin delete ${argumentOf(refOf(first))}`],
  };
  return { findings: [finding] };
}
