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
  readonly reason: string;
}

const pods = /\b(Pod|PodTemplate|Deployment|ReplicaSet|StatefulSet|DaemonSet|ReplicationController|Job|CronJob)$/;

/** Fields of Pods that are not validated, or only in part. */
const podFields = [
  ...["affinity", "dnsConfig", "hostIPC", "hostNetwork", "hostPID", "hostUsers", "hostname", "hostnameOverride"],
  ...["imagePullSecrets", "nodeSelector", "os", "overhead", "preemptionPolicy", "readinessGates", "resourceClaims"],
  ...["resources", "runtimeClassName", "schedulerName", "schedulingGates", "schedulingGroup", "securityContext"],
  ...["setHostnameAsFQDN", "subdomain", "tolerations", "topologySpreadConstraints", "volumes", "workloadRef"],
  ...["containers", "initContainers", "ephemeralContainers"].flatMap((list) =>
    ["env", "envFrom", "lifecycle", "livenessProbe", "readinessProbe", "startupProbe", "resizePolicy", "resources"]
      .concat(["restartPolicy", "securityContext", "volumeDevices", "volumeMounts", "workingDir", "ports"])
      .map((name) => `${list}\\[\\d+\\]\\.${name}`),
  ),
];
const podPath = new RegExp(`(^|\\.)spec\\.(${podFields.join("|")})`);

const gaps: readonly KnownGap[] = [
  {
    request: /(PersistentVolume|PersistentVolumeClaim|VolumeAttributesClass)$/,
    path: /^\.body\.metadata\.(finalizers|managedFields)/,
    reason: "the finalizer that protects volumes and claims in use is not compared",
  },
  {
    request: /WebhookConfiguration$/,
    path: /clientConfig|^\.body\.metadata\.generation$/,
    reason: "targets are validated in part, and an empty bundle is a missing one",
  },
  { request: /ResourceQuota$/, path: /status/, reason: "the status is computed when it is read" },
  {
    request: /autoscaling\/v1/,
    path: /managedFields|annotations/,
    reason: "owners are not converted between versions",
  },
  { request: pods, path: podPath, reason: "Pods are validated in part" },
  {
    request: pods,
    path: /^\.(warning|body\.metadata\.generation)$/,
    reason: "fields of features that are off are kept",
  },
  {
    request: /Job$/,
    path: /(podFailurePolicy: |successPolicy|managedBy|spec\.template|spec\.selector|status)/,
    reason: "policies for the success of Jobs are not validated, nor is their status",
  },
  {
    request: /v1 Service$/,
    path: /(allocateLoadBalancerNodePorts|clusterIP|externalIP|ipFamil|sessionAffinity|TrafficPolicy|spec\.ports|spec\.selector|healthCheckNodePort)/,
    reason: "addresses of Services are allocated and validated in another order",
  },
  { request: /resource\.k8s\.io\/v1 ResourceSlice$/, path: /./, reason: "ResourceSlices are not validated" },
  {
    request: /resource\.k8s\.io\/v1 (DeviceClass|ResourceClaim|ResourceClaimTemplate)$/,
    path: /(cel\.expression|^spec: |spec\.metadata|spec\.spec|tolerations|adminAccess|capacity|status|managedFields)/,
    reason: "expressions about devices are not compiled, and claims that change are printed in another form",
  },
  {
    request: /(PersistentVolume|PersistentVolumeClaim|VolumeAttachment)$/,
    path: /^(spec: |spec\.persistentvolumesource: |spec\.capacity: |spec\.dataSource|status\.|\.warning)/,
    reason: "changes that are refused are printed in the form of the object; deprecated fields give no warning",
  },
  {
    request: /discovery\.k8s\.io\/v1 EndpointSlice$/,
    path: /(hints|topology|conditions|addresses)/,
    reason: "hints and topology are not validated",
  },
  {
    request: /(Node|CSIStorageCapacity)$/,
    path: /^(spec\.podCIDRs|nodeTopology): /,
    reason: "printed in another form",
  },
  { request: /RuntimeClass$/, path: /hugepages|^overhead: /, reason: "sizes of huge pages are not validated" },
  { request: /NetworkPolicy$/, path: /^\.body\.metadata\.generation$/, reason: "an empty list is a missing one" },
];

/** The findings that no known gap explains, with the differences that are not explained. */
export function unexplained(findings: readonly Finding[]): Finding[] {
  return findings.flatMap((finding) => {
    const own = gaps.filter(({ request }) => request.test(finding.title));
    const isGap = (place: string): boolean => own.some(({ path }) => path.test(place));
    const oneSided = oneSidedFields(finding.ours, finding.theirs);
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
