// SPDX-License-Identifier: Apache-2.0
import type { JsonObject } from "@purlin/kube-objects/json";

const READ = "get list watch";
const WRITE = "create delete deletecollection patch update";
const ALL = "create delete deletecollection get list patch update watch";
const CREATE = "create";

const POD_WAYS = "pods/attach +exec +portforward +proxy";
const SCALED_SETS = "replicasets +scale";
const NETWORK = "ingresses networkpolicies";

/** What the roles admin, edit and view are made of, kind by kind (facts of Kubernetes 1.36.3, Apache-2.0). */
export const AGGREGATED_RULES: Readonly<Record<"admin" | "edit" | "view", readonly JsonObject[]>> = {
  admin: [
    rule("authorization.k8s.io", "localsubjectaccessreviews", CREATE),
    rule("rbac.authorization.k8s.io", "rolebindings roles", ALL),
  ],
  edit: [
    rule("", `${POD_WAYS} secrets services/proxy`, READ),
    rule("", "serviceaccounts", "impersonate"),
    rule("", `pods ${POD_WAYS}`, WRITE),
    rule("", "pods/eviction", CREATE),
    rule(
      "",
      "configmaps persistentvolumeclaims replicationcontrollers +scale secrets serviceaccounts services +proxy",
      WRITE,
    ),
    rule("", "serviceaccounts/token", CREATE),
    rule(",events.k8s.io", "events", WRITE),
    rule("apps", `daemonsets deployments +rollback +scale ${SCALED_SETS} statefulsets +scale`, WRITE),
    rule("autoscaling", "horizontalpodautoscalers", WRITE),
    rule("batch", "cronjobs jobs", WRITE),
    rule(
      "extensions",
      `daemonsets deployments +rollback +scale ${NETWORK} ${SCALED_SETS} replicationcontrollers/scale`,
      WRITE,
    ),
    rule("policy", "poddisruptionbudgets", WRITE),
    rule("networking.k8s.io", NETWORK, WRITE),
    rule("coordination.k8s.io", "leases", ALL),
    rule("resource.k8s.io", "resourceclaims resourceclaimtemplates", WRITE),
  ],
  view: [
    rule(
      "",
      "configmaps endpoints persistentvolumeclaims +status pods replicationcontrollers +scale serviceaccounts services +status",
      READ,
    ),
    rule(
      "",
      "bindings limitranges namespaces/status pods/log +status replicationcontrollers/status resourcequotas +status",
      READ,
    ),
    rule("", "namespaces", READ),
    rule(",events.k8s.io", "events", READ),
    rule("discovery.k8s.io", "endpointslices", READ),
    rule(
      "apps",
      `controllerrevisions daemonsets +status deployments +scale +status ${SCALED_SETS} +status statefulsets +scale +status`,
      READ,
    ),
    rule("autoscaling", "horizontalpodautoscalers +status", READ),
    rule("batch", "cronjobs +status jobs +status", READ),
    rule(
      "extensions",
      `daemonsets +status deployments +scale +status ingresses +status networkpolicies ${SCALED_SETS} +status replicationcontrollers/scale`,
      READ,
    ),
    rule("policy", "poddisruptionbudgets +status", READ),
    rule("networking.k8s.io", "ingresses +status networkpolicies", READ),
    rule("resource.k8s.io", "resourceclaims +status resourceclaimtemplates", READ),
  ],
};

/** A rule from words: groups by comma, resources and verbs by blank; `+status` is that of the resource before it. */
function rule(groups: string, words: string, verbs: string): JsonObject {
  const resources: string[] = [];
  for (const word of words.split(" ")) {
    const [before = ""] = resources.at(-1)?.split("/") ?? [];
    resources.push(word.startsWith("+") ? `${before}/${word.slice(1)}` : word);
  }
  return { apiGroups: groups.split(","), resources, verbs: verbs.split(" ") };
}
