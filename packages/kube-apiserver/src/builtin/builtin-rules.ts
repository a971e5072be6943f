// SPDX-License-Identifier: Apache-2.0
import { crdRules } from "../crd/crd-rules.ts";
import type { ResourceType } from "../registry/resource-type.ts";
import { isDeleting } from "../rest/object-meta.ts";
import { configMapRules, secretRules } from "./config-data.ts";
import { daemonSetRules } from "./daemon-set-rules.ts";
import { withEmptyLists } from "./empty-lists.ts";
import { endpointSliceRules, endpointsRules } from "./endpoint-rules.ts";
import { coreEventRules, namedEventRules } from "./event-rules.ts";
import type { KindRules } from "./kind-rules.ts";
import { leaseRules } from "./lease-rules.ts";
import { namespaceRules } from "./namespace-rules.ts";
import type { FindAccount } from "./pods/pod-admission.ts";
import { podRules } from "./pods/pod-rules.ts";
import { clusterRoleBindingRules, clusterRoleRules, roleBindingRules, roleRules } from "./rbac-rules.ts";
import { serviceRules } from "./service-rules.ts";
import type { TakenPlaces } from "./services/allocation.ts";
import { webhookRules } from "./webhook-rules.ts";
import { cronJobRules, jobRules } from "./workloads/job-rules.ts";
import { deploymentRules, replicaSetRules, statefulSetRules } from "./workloads/workload-rules.ts";

const NO_RULES: KindRules = {};

export interface BuiltinRulesOptions {
  /** Addresses and ports that Services have. */
  readonly taken: TakenPlaces;
  readonly findAccount: FindAccount;
  readonly now: () => Date;
}

/** The rules of the built-in kinds; most have none of their own. */
export function builtinRules({ taken, findAccount, now }: BuiltinRulesOptions): (type: ResourceType) => KindRules {
  const rules: Readonly<Record<string, KindRules>> = {
    "/ConfigMap": configMapRules,
    "/Secret": secretRules,
    "/Namespace": namespaceRules,
    "/Event": coreEventRules,
    "/Pod": podRules(findAccount),
    "/Service": serviceRules(taken),
    // Its objects go first: deleting it only marks it.
    "apiextensions.k8s.io/CustomResourceDefinition": { blocksDeletion: (crd) => !isDeleting(crd), ...crdRules(now) },
    "/Endpoints": endpointsRules,
    "admissionregistration.k8s.io/MutatingWebhookConfiguration": webhookRules,
    "admissionregistration.k8s.io/ValidatingWebhookConfiguration": webhookRules,
    "apps/Deployment": deploymentRules,
    "apps/ReplicaSet": replicaSetRules,
    "apps/StatefulSet": statefulSetRules,
    "apps/DaemonSet": daemonSetRules,
    "batch/Job": jobRules,
    "batch/CronJob": cronJobRules,
    "coordination.k8s.io/Lease": leaseRules,
    "discovery.k8s.io/EndpointSlice": withEmptyLists(["endpoints", "ports"], endpointSliceRules),
    "events.k8s.io/Event": namedEventRules,
    "rbac.authorization.k8s.io/Role": withEmptyLists(["rules"], roleRules),
    "rbac.authorization.k8s.io/ClusterRole": withEmptyLists(["rules"], clusterRoleRules),
    "rbac.authorization.k8s.io/RoleBinding": roleBindingRules,
    "rbac.authorization.k8s.io/ClusterRoleBinding": clusterRoleBindingRules,
  };
  return ({ group, kind }) => rules[`${group}/${kind}`] ?? NO_RULES;
}
