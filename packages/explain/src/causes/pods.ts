// SPDX-License-Identifier: Apache-2.0
// E15, E16: what keeps the Pods of a program from running.
import type { JsonObject } from "@purlin/kube-objects/json";
import { type KubeObject, objectAt, objectsAt, stringAt } from "@purlin/kube-objects/object";
import { fieldEvidence, refOf, refText } from "../inspect/facts.ts";
import type { Finding } from "../model/explanation.ts";

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
