// SPDX-License-Identifier: Apache-2.0
// Where the embedded server knowingly answers otherwise. docs/reference/compatibility.md lists the same for users.
import type { Loose } from "../harness/loose.ts";
import type { Finding } from "./run.ts";

/** A part of some kinds that is not compared. */
interface KnownGap {
  /** The title of the requests, such as `POST v1 Pod`. */
  readonly request: RegExp;
  /** Fields of causes, or paths in the answer. */
  readonly path: RegExp;
  /** One of the servers reports it alone, so the other causes of the answer are not compared. */
  readonly isAlone?: boolean;
  readonly reason: string;
}

const gaps: readonly KnownGap[] = [
  {
    request: /(PersistentVolume|PersistentVolumeClaim|VolumeAttributesClass)$/,
    path: /^\.body\.metadata\.(finalizers|managedFields)/,
    reason: "a controller of the reference adds the finalizer a moment later, the embedded server with the object",
  },
  {
    request: /ResourceQuota$/,
    path: /status|managedFields|quantities must match|unknown field/,
    reason: "the status is computed when it is read, so nothing that a client writes to it is kept",
  },
  {
    request: /^PUT v1 (PersistentVolume|PersistentVolumeClaim)$|^PUT storage.k8s.io\/v1 VolumeAttachment$/,
    path: /^spec(\.persistentvolumesource)?: (Forbidden: spec(\.persistentvolumesource)? is immutable|Invalid value: .* field is immutable)/s,
    reason: "the refusal names the same field, and prints the change in the form of the object, not of a Go type",
  },
  {
    request: /^PUT batch\/v1 Job$/,
    path: /^spec\.(template|successPolicy|podFailurePolicy|selector): Invalid value: .*field is immutable/s,
    reason: "the refusal names the same field, and prints the value in the form of the object, not of a Go type",
  },
  {
    request: /^PUT v1 Pod$/,
    path: /^spec: Forbidden: pod updates may not change fields other than/,
    reason: "the refusal prints the difference in the form of the object, not of a Go type",
  },
  {
    request: /^PUT\/status /,
    path: /^status\./,
    reason: "only controllers write a status: counters and times of Jobs and claims are not checked against each other",
  },
  {
    request: /v1 Service$/,
    path: /^spec\.(ports\[\d+\]\.nodePort: .*provided port is not in the valid range|clusterIPs: .*failed to allocate IP)/,
    isAlone: true,
    reason:
      "a dry run of the reference does not check the range of a port; addresses lead nowhere here, so any is taken",
  },
  {
    request: /(WebhookConfiguration|NetworkPolicy)$/,
    path: /^\.body\.metadata\.generation$/,
    reason: "a list or map that is sent empty is stored as a missing one: such a write does not count as a change here",
  },
  {
    request: /(Pod|PodTemplate|Deployment|ReplicaSet|StatefulSet|DaemonSet|ReplicationController|Job|CronJob)$/,
    path: /resources(\.claims)?: Forbidden/,
    reason: "the same for empty lists and maps of resources",
  },
  {
    request: /DaemonSet$/,
    path: /f:rollingUpdate|^\.body\.spec\.updateStrategy\.rollingUpdate/,
    reason: "owners of a strategy that is not in use are not recorded",
  },
  {
    request: /StatefulSet$/,
    path: /^\.body\.spec\.volumeClaimTemplates\[\d+\]\.status|^spec: Forbidden: updates to statefulset spec/,
    reason: "a template of a claim has no status of its own",
  },
  {
    request: /StatefulSet$/,
    path: /^spec\.template\.spec\.volumes\[\d+\]\.(name|persistentVolumeClaim)/,
    reason: "the reference puts the volumes of several claims in the order of a Go map: their index is chance",
  },
  {
    request: /resource\.k8s\.io\/v1 (ResourceSlice|DeviceClass|ResourceClaim|ResourceClaimTemplate)$/,
    path: /./,
    reason: "drivers of devices write them, and none runs here: their expressions and attributes are validated in part",
  },
];

/** The findings that no known gap explains, with the differences that are not explained. */
export function unexplained(findings: readonly Finding[]): Finding[] {
  return findings.flatMap((finding) => {
    const own = gaps.filter(({ request }) => request.test(finding.title));
    const isGap = (place: string): boolean => own.some(({ path }) => path.test(place));
    const oneSided = oneSidedFields(finding.ours, finding.theirs);
    if (own.some(({ path, isAlone }) => isAlone && oneSided.some((one) => path.test(one)))) return [];
    if (oneSided.length > 0) return oneSided.every(isGap) ? [] : [finding];
    const differences = finding.differences.filter(({ path }) => !isGap(path));
    return differences.length === 0 ? [] : [{ ...finding, differences }];
  });
}

/** The fields of the causes that only one of the servers reports. */
function oneSidedFields(ours: Loose, theirs: Loose): string[] {
  const [mine, other] = [causesOf(ours), causesOf(theirs)];
  return [...mine].filter((one) => !other.has(one)).concat([...other].filter((one) => !mine.has(one)));
}

function causesOf({ body }: Loose): Set<string> {
  const causes: readonly Loose[] = body?.details?.causes ?? [];
  return new Set(causes.map(({ field, message }) => `${field}: ${message}`));
}
