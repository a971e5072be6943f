// SPDX-License-Identifier: Apache-2.0
import type { JsonObject } from "@purlin/kube-objects";

const READ = "get list watch";
const WRITE = "create delete deletecollection patch update";
const ALL = "create delete deletecollection get list patch update watch";
const CREATE = "create";

/** What the roles admin, edit and view are made of, kind by kind (facts of Kubernetes 1.36.3, Apache-2.0). */
export const AGGREGATED_RULES: Readonly<Record<"admin" | "edit" | "view", readonly JsonObject[]>> = {
  admin: [
    rule("authorization.k8s.io", "localsubjectaccessreviews", CREATE),
    rule("rbac.authorization.k8s.io", "rolebindings roles", ALL),
  ],
  edit: [
    rule("", "pods/attach pods/exec pods/portforward pods/proxy secrets services/proxy", READ),
    rule("", "serviceaccounts", "impersonate"),
    rule("", "pods pods/attach pods/exec pods/portforward pods/proxy", WRITE),
    rule("", "pods/eviction", CREATE),
    rule(
      "",
      "configmaps persistentvolumeclaims replicationcontrollers replicationcontrollers/scale secrets serviceaccounts services services/proxy",
      WRITE,
    ),
    rule("", "serviceaccounts/token", CREATE),
    rule(",events.k8s.io", "events", WRITE),
    rule(
      "apps",
      "daemonsets deployments deployments/rollback deployments/scale replicasets replicasets/scale statefulsets statefulsets/scale",
      WRITE,
    ),
    rule("autoscaling", "horizontalpodautoscalers", WRITE),
    rule("batch", "cronjobs jobs", WRITE),
    rule(
      "extensions",
      "daemonsets deployments deployments/rollback deployments/scale ingresses networkpolicies replicasets replicasets/scale replicationcontrollers/scale",
      WRITE,
    ),
    rule("policy", "poddisruptionbudgets", WRITE),
    rule("networking.k8s.io", "ingresses networkpolicies", WRITE),
    rule("coordination.k8s.io", "leases", ALL),
    rule("resource.k8s.io", "resourceclaims resourceclaimtemplates", WRITE),
  ],
  view: [
    rule(
      "",
      "configmaps endpoints persistentvolumeclaims persistentvolumeclaims/status pods replicationcontrollers replicationcontrollers/scale serviceaccounts services services/status",
      READ,
    ),
    rule(
      "",
      "bindings limitranges namespaces/status pods/log pods/status replicationcontrollers/status resourcequotas resourcequotas/status",
      READ,
    ),
    rule("", "namespaces", READ),
    rule(",events.k8s.io", "events", READ),
    rule("discovery.k8s.io", "endpointslices", READ),
    rule(
      "apps",
      "controllerrevisions daemonsets daemonsets/status deployments deployments/scale deployments/status replicasets replicasets/scale replicasets/status statefulsets statefulsets/scale statefulsets/status",
      READ,
    ),
    rule("autoscaling", "horizontalpodautoscalers horizontalpodautoscalers/status", READ),
    rule("batch", "cronjobs cronjobs/status jobs jobs/status", READ),
    rule(
      "extensions",
      "daemonsets daemonsets/status deployments deployments/scale deployments/status ingresses ingresses/status networkpolicies replicasets replicasets/scale replicasets/status replicationcontrollers/scale",
      READ,
    ),
    rule("policy", "poddisruptionbudgets poddisruptionbudgets/status", READ),
    rule("networking.k8s.io", "ingresses ingresses/status networkpolicies", READ),
    rule("resource.k8s.io", "resourceclaims resourceclaims/status resourceclaimtemplates", READ),
  ],
};

/** A rule from words: groups by comma, resources and verbs by blank. */
function rule(groups: string, resources: string, verbs: string): JsonObject {
  return { apiGroups: groups.split(","), resources: resources.split(" "), verbs: verbs.split(" ") };
}
