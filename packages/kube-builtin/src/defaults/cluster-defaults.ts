// SPDX-License-Identifier: Apache-2.0
import { isJsonArray, isJsonObject, type JsonObject } from "@purlin/kube-objects/json";
import { all, type Edit, each, fill, inside, joined, podTemplateDefaults, when } from "./pod-defaults.ts";

const isEmptyList = (object: JsonObject, name: string): boolean => {
  const list = object[name];
  return !isJsonArray(list) || list.length === 0;
};

/** Limits and requests that a container gets: the maximum, and at least the minimum. */
const limitRangeItem: Edit = when(
  (item) => item["type"] === "Container",
  (item) => {
    const [max, min, limits, requests] = ["max", "min", "default", "defaultRequest"].map((name) => {
      const member = item[name];
      return isJsonObject(member) ? member : {};
    }) as [JsonObject, JsonObject, JsonObject, JsonObject];
    const allLimits = joined(max, limits);
    const allRequests = joined(min, allLimits, requests);
    return {
      ...item,
      ...(Object.keys(allLimits).length > 0 && { default: allLimits }),
      ...(Object.keys(allRequests).length > 0 && { defaultRequest: allRequests }),
    };
  },
);

/** A controller selects, and is labelled with, the labels of its template. */
const replicationController: Edit = (object) => {
  const spec = isJsonObject(object["spec"]) ? object["spec"] : {};
  const template = isJsonObject(spec["template"]) ? spec["template"] : {};
  const labels = isJsonObject(template["metadata"]) ? template["metadata"]["labels"] : undefined;
  const filled = inside("spec", all(fill({ replicas: 1 }), inside("template", podTemplateDefaults)))(object);
  if (!isJsonObject(labels)) return filled;
  const missing = (value: unknown): boolean =>
    !isJsonObject(value as JsonObject) || Object.keys(value as object).length === 0;
  const selected = inside("spec", (one) => (missing(one["selector"]) ? { ...one, selector: labels } : one))(filled);
  return inside("metadata", (meta) => (missing(meta["labels"]) ? { ...meta, labels } : meta))(selected);
};

const utilization: JsonObject = {
  type: "Resource",
  resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 80 } },
};
const perPeriod = (type: string, value: number): JsonObject => ({ type, value, periodSeconds: 15 });
const scaleUp: JsonObject = {
  stabilizationWindowSeconds: 0,
  selectPolicy: "Max",
  policies: [perPeriod("Pods", 4), perPeriod("Percent", 100)],
};
const scaleDown: JsonObject = { selectPolicy: "Max", policies: [perPeriod("Percent", 100)] };

const autoscaler: Edit = inside(
  "spec",
  all(
    fill({ minReplicas: 1 }),
    when(
      (spec) => isEmptyList(spec, "metrics"),
      (spec) => ({ ...spec, metrics: [utilization] }),
    ),
    inside(
      "behavior",
      all(fill({ scaleUp: {}, scaleDown: {} }), inside("scaleUp", fill(scaleUp)), inside("scaleDown", fill(scaleDown))),
    ),
  ),
);

const networkPolicy: Edit = inside(
  "spec",
  all(
    when(
      (spec) => isEmptyList(spec, "policyTypes"),
      (spec) => ({ ...spec, policyTypes: isEmptyList(spec, "egress") ? ["Ingress"] : ["Ingress", "Egress"] }),
    ),
    ...["ingress", "egress"].map((direction) => each(direction, each("ports", fill({ protocol: "TCP" })))),
  ),
);

const zero = (member: string, value: number): Edit =>
  when(
    (object) => object[member] === undefined || object[member] === 0,
    (object) => ({ ...object, [member]: value }),
  );

const priorityLevel: Edit = inside(
  "spec",
  all(
    inside("exempt", fill({ nominalConcurrencyShares: 0, lendablePercent: 0 })),
    inside(
      "limited",
      all(
        fill({ nominalConcurrencyShares: 30, lendablePercent: 0 }),
        inside(
          "limitResponse",
          inside("queuing", all(zero("handSize", 8), zero("queues", 64), zero("queueLengthLimit", 50))),
        ),
      ),
    ),
  ),
);

const deviceTolerations: Edit = each(
  "tolerations",
  when(
    (one) => (one["operator"] ?? "") === "",
    (one) => ({ ...one, operator: "Equal" }),
  ),
);
const exactly: Edit = all(
  when(
    (one) => (one["allocationMode"] ?? "") === "",
    (one) => ({ ...one, allocationMode: "ExactCount" }),
  ),
  when((one) => one["allocationMode"] === "ExactCount", zero("count", 1)),
  deviceTolerations,
);
const deviceClaim: Edit = inside(
  "devices",
  each("requests", all(inside("exactly", exactly), each("firstAvailable", exactly))),
);
const allocatedDevices: Edit = inside(
  "status",
  inside("allocation", inside("devices", each("results", deviceTolerations))),
);

const matchResources: Edit = all(
  fill({ matchPolicy: "Equivalent", namespaceSelector: {}, objectSelector: {} }),
  ...["resourceRules", "excludeResourceRules"].map((name) => each(name, fill({ scope: "*" }))),
);
const admissionPolicy: Edit = inside(
  "spec",
  all(fill({ failurePolicy: "Fail" }), inside("matchConstraints", matchResources)),
);
const admissionBinding: Edit = inside("spec", inside("matchResources", matchResources));

const volumeSource: Edit = all(
  inside("hostPath", fill({ type: "" })),
  inside("iscsi", fill({ iscsiInterface: "default" })),
  inside("rbd", fill({ pool: "rbd", user: "admin", keyring: "/etc/ceph/keyring" })),
  inside("scaleIO", fill({ storageMode: "ThinProvisioned", fsType: "xfs" })),
  inside("azureDisk", fill({ cachingMode: "ReadWrite", fsType: "ext4", readOnly: false, kind: "Shared" })),
);

const volume: Edit = all(
  fill({ spec: {}, status: {} }),
  inside("spec", all(fill({ persistentVolumeReclaimPolicy: "Retain", volumeMode: "Filesystem" }), volumeSource)),
  inside("status", fill({ phase: "Pending" })),
);

const claim: Edit = all(
  fill({ spec: {}, status: {} }),
  inside("spec", fill({ volumeMode: "Filesystem" })),
  inside("status", fill({ phase: "Pending" })),
);

const driver: Edit = inside(
  "spec",
  all(
    fill({
      attachRequired: true,
      podInfoOnMount: false,
      storageCapacity: false,
      fsGroupPolicy: "ReadWriteOnceWithFSType",
      requiresRepublish: false,
      seLinuxMount: false,
    }),
    when(
      (spec) => isEmptyList(spec, "volumeLifecycleModes"),
      (spec) => ({ ...spec, volumeLifecycleModes: ["Persistent"] }),
    ),
  ),
);

const node: Edit = inside("status", (status) => {
  const { capacity, allocatable } = status;
  return isJsonObject(capacity) && !isJsonObject(allocatable) ? { ...status, allocatable: capacity } : status;
});

/** Defaults of the kinds of the cluster, its storage, its network and its policies. */
export const clusterDefaults: Readonly<Record<string, Edit>> = {
  "v1/LimitRange": inside("spec", each("limits", limitRangeItem)),
  "v1/Node": node,
  "v1/PersistentVolume": volume,
  "v1/PersistentVolumeClaim": claim,
  "v1/PodTemplate": inside("template", podTemplateDefaults),
  "v1/ReplicationController": replicationController,
  "admissionregistration.k8s.io/v1/MutatingAdmissionPolicy": admissionPolicy,
  "admissionregistration.k8s.io/v1/MutatingAdmissionPolicyBinding": admissionBinding,
  "admissionregistration.k8s.io/v1/ValidatingAdmissionPolicy": admissionPolicy,
  "admissionregistration.k8s.io/v1/ValidatingAdmissionPolicyBinding": admissionBinding,
  "autoscaling/v1/HorizontalPodAutoscaler": inside("spec", fill({ minReplicas: 1 })),
  "autoscaling/v2/HorizontalPodAutoscaler": autoscaler,
  "flowcontrol.apiserver.k8s.io/v1/FlowSchema": inside("spec", zero("matchingPrecedence", 1000)),
  "flowcontrol.apiserver.k8s.io/v1/PriorityLevelConfiguration": priorityLevel,
  "networking.k8s.io/v1/IngressClass": inside("spec", inside("parameters", fill({ scope: "Cluster" }))),
  "networking.k8s.io/v1/NetworkPolicy": networkPolicy,
  "storage.k8s.io/v1/VolumeAttachment": inside("spec", inside("source", inside("inlineVolumeSpec", volumeSource))),
  "resource.k8s.io/v1/ResourceClaim": all(inside("spec", deviceClaim), allocatedDevices),
  "resource.k8s.io/v1/ResourceClaimTemplate": inside("spec", inside("spec", deviceClaim)),
  "scheduling.k8s.io/v1/PriorityClass": fill({ preemptionPolicy: "PreemptLowerPriority" }),
  "storage.k8s.io/v1/CSIDriver": driver,
  "storage.k8s.io/v1/StorageClass": fill({ reclaimPolicy: "Delete", volumeBindingMode: "Immediate" }),
};
