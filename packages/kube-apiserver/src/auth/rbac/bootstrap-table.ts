// SPDX-License-Identifier: Apache-2.0

import type { PolicyRule } from "../authorizer.ts";
import { controllerRoles, namespacedRoles } from "./bootstrap-controller-roles.ts";

/**
 * The ClusterRoles that kube-apiserver 1.36.3 creates for users and components, in the form that `bootstrapTable` reads.
 */
const userRoles = `
admin
cluster-admin = group system:masters
  * | * | *
  * | *
edit
system:aggregate-to-admin
  create | authorization.k8s.io | localsubjectaccessreviews
  create delete deletecollection get list patch update watch | rbac.authorization.k8s.io | rolebindings roles
system:aggregate-to-edit
  get list watch | core | pods/attach +exec +portforward +proxy secrets services/proxy
  impersonate | core | serviceaccounts
  create delete deletecollection patch update | core | pods +attach +exec +portforward +proxy
  create | core | pods/eviction
  create delete deletecollection patch update | core | configmaps persistentvolumeclaims replicationcontrollers +scale secrets serviceaccounts services +proxy
  create | core | serviceaccounts/token
  create delete deletecollection patch update | core events.k8s.io | events
  create delete deletecollection patch update | apps | daemonsets deployments +rollback +scale replicasets +scale statefulsets +scale
  create delete deletecollection patch update | autoscaling | horizontalpodautoscalers
  create delete deletecollection patch update | batch | cronjobs jobs
  create delete deletecollection patch update | extensions | daemonsets deployments +rollback +scale ingresses networkpolicies replicasets +scale replicationcontrollers/scale
  create delete deletecollection patch update | policy | poddisruptionbudgets
  create delete deletecollection patch update | networking.k8s.io | ingresses networkpolicies
  create delete deletecollection get list patch update watch | coordination.k8s.io | leases
  create delete deletecollection patch update | resource.k8s.io | resourceclaims resourceclaimtemplates
system:aggregate-to-view
  get list watch | core | configmaps endpoints persistentvolumeclaims +status pods replicationcontrollers +scale serviceaccounts services +status
  get list watch | core | bindings limitranges namespaces/status pods/log +status replicationcontrollers/status resourcequotas +status
  get list watch | core | namespaces
  get list watch | core events.k8s.io | events
  get list watch | discovery.k8s.io | endpointslices
  get list watch | apps | controllerrevisions daemonsets +status deployments +scale +status replicasets +scale +status statefulsets +scale +status
  get list watch | autoscaling | horizontalpodautoscalers +status
  get list watch | batch | cronjobs +status jobs +status
  get list watch | extensions | daemonsets +status deployments +scale +status ingresses +status networkpolicies replicasets +scale +status replicationcontrollers/scale
  get list watch | policy | poddisruptionbudgets +status
  get list watch | networking.k8s.io | ingresses +status networkpolicies
  get list watch | resource.k8s.io | resourceclaims +status resourceclaimtemplates
system:auth-delegator
  create | authentication.k8s.io | tokenreviews
  create | authorization.k8s.io | subjectaccessreviews
system:basic-user = group system:authenticated
  create | authorization.k8s.io | selfsubjectaccessreviews selfsubjectrulesreviews
  create | authentication.k8s.io | selfsubjectreviews
system:certificates.k8s.io:certificatesigningrequests:nodeclient
  create | certificates.k8s.io | certificatesigningrequests/nodeclient
system:certificates.k8s.io:certificatesigningrequests:selfnodeclient
  create | certificates.k8s.io | certificatesigningrequests/selfnodeclient
system:certificates.k8s.io:kube-apiserver-client-approver
  approve | certificates.k8s.io | signers | kubernetes.io/kube-apiserver-client
system:certificates.k8s.io:kube-apiserver-client-kubelet-approver
  approve | certificates.k8s.io | signers | kubernetes.io/kube-apiserver-client-kubelet
system:certificates.k8s.io:kubelet-serving-approver
  approve | certificates.k8s.io | signers | kubernetes.io/kubelet-serving
system:certificates.k8s.io:legacy-unknown-approver
  approve | certificates.k8s.io | signers | kubernetes.io/legacy-unknown
system:discovery = group system:authenticated
  get | /api /api/* /apis /apis/* /healthz /livez /openapi /openapi/* /readyz /version /version/
system:heapster
  get list watch | core | events namespaces nodes pods
  get list watch | extensions | deployments
system:kube-aggregator
  get list watch | core | endpoints services
system:kube-controller-manager = user system:kube-controller-manager
  create patch update | core events.k8s.io | events
  create | coordination.k8s.io | leases
  get update | coordination.k8s.io | leases | kube-controller-manager
  create | core | secrets serviceaccounts
  delete | core | secrets
  get | core | configmaps namespaces secrets serviceaccounts
  update | core | secrets serviceaccounts
  create | authentication.k8s.io | tokenreviews
  create | authorization.k8s.io | subjectaccessreviews
  list watch | * | *
  create | core | serviceaccounts/token
system:kube-dns = account kube-dns
  list watch | core | endpoints services
system:kube-scheduler = user system:kube-scheduler
  create patch update | core events.k8s.io | events
  create | coordination.k8s.io | leases
  get list update watch | coordination.k8s.io | leases | kube-scheduler
  create delete deletecollection get list patch update watch | coordination.k8s.io | leasecandidates
  get list watch | core | nodes
  delete get list watch | core | pods
  create | core | bindings pods/binding
  patch update | core | pods/status
  get list watch | core | replicationcontrollers services
  get list watch | apps extensions | replicasets
  get list watch | apps | statefulsets
  get list watch | policy | poddisruptionbudgets
  get list watch | core | persistentvolumeclaims persistentvolumes
  create | authentication.k8s.io | tokenreviews
  create | authorization.k8s.io | subjectaccessreviews
  get list watch | storage.k8s.io | csinodes
  get list watch | storage.k8s.io | volumeattachments
  get list watch | core | namespaces
  get list watch | storage.k8s.io | csidrivers
  get list watch | storage.k8s.io | csistoragecapacities
  get list watch | resource.k8s.io | deviceclasses
  get list patch update watch | resource.k8s.io | resourceclaims
  get list patch update watch | resource.k8s.io | resourceclaims/status
  update | core | pods/finalizers
  get list watch | resource.k8s.io | resourceslices
  create delete | resource.k8s.io | resourceclaims
  patch update | resource.k8s.io | resourceclaims/binding
system:kubelet-api-admin
  get list watch | core | nodes
  proxy | core | nodes
  * | core | nodes/log +metrics +proxy +stats
  * | core | nodes/configz +healthz +pods
system:monitoring = group system:monitoring
  get | /flagz /healthz /healthz/* /livez /livez/* /metrics /metrics/slis /readyz /readyz/* /statusz
  get | core | nodes/metrics
system:node =
  create | authentication.k8s.io | tokenreviews
  create | authorization.k8s.io | localsubjectaccessreviews subjectaccessreviews
  get list watch | core | services
  create get list watch | core | nodes
  patch update | core | nodes/status
  patch update | core | nodes
  create patch update | core events.k8s.io | events
  get list watch | core | pods
  create delete | core | pods
  patch update | core | pods/status
  create | core | pods/eviction
  get list watch | core | configmaps secrets
  get | core | persistentvolumeclaims persistentvolumes
  get | core | endpoints
  create get list watch | certificates.k8s.io | certificatesigningrequests
  create delete get patch update | coordination.k8s.io | leases
  get | storage.k8s.io | volumeattachments
  create | core | serviceaccounts/token
  get patch update | core | persistentvolumeclaims/status
  get list watch | storage.k8s.io | csidrivers
  create delete get patch update | storage.k8s.io | csinodes
  get list watch | node.k8s.io | runtimeclasses
  get | resource.k8s.io | resourceclaims
  deletecollection | resource.k8s.io | resourceslices
  get | core | serviceaccounts
system:node-bootstrapper
  create get list watch | certificates.k8s.io | certificatesigningrequests
system:node-problem-detector
  get | core | nodes
  patch | core | nodes/status
  create patch update | core events.k8s.io | events
system:node-proxier = user system:kube-proxy
  list watch | core | endpoints services
  get list watch | core | nodes
  create patch update | core events.k8s.io | events
  list watch | networking.k8s.io | servicecidrs
  list watch | discovery.k8s.io | endpointslices
system:persistent-volume-provisioner
  create delete get list watch | core | persistentvolumes
  get list update watch | core | persistentvolumeclaims
  get list watch | storage.k8s.io | storageclasses
  watch | core | events
  create patch update | core events.k8s.io | events
system:public-info-viewer = group system:authenticated, group system:unauthenticated
  get | /healthz /livez /readyz /version /version/
system:service-account-issuer-discovery = group system:serviceaccounts
  get | /.well-known/openid-configuration /.well-known/openid-configuration/ /openid/v1/jwks /openid/v1/jwks/
system:volume-scheduler = user system:kube-scheduler
  get list patch update watch | core | persistentvolumes
  get list watch | storage.k8s.io | storageclasses
  get list patch update watch | core | persistentvolumeclaims
view
`;

/** A role that every cluster has, and who has it. */
export interface BootstrapRole {
  /** Empty for a ClusterRole. */
  readonly namespace: string;
  readonly name: string;
  readonly rules: readonly PolicyRule[];
  /** Undefined when the role is not bound. */
  readonly subjects: readonly BootstrapSubject[] | undefined;
}

/** A subject of a binding. ServiceAccounts are in `kube-system`. */
export interface BootstrapSubject {
  readonly kind: "User" | "Group" | "ServiceAccount";
  readonly name: string;
}

const kinds = { user: "User", group: "Group", account: "ServiceAccount" } as const;

/** All roles that every cluster has. */
export const bootstrapTable: readonly BootstrapRole[] = [userRoles, controllerRoles, namespacedRoles].flatMap(
  readTable,
);

/**
 * Reads a table. A line that is not indented begins a role: `[NAMESPACE/]NAME [= SUBJECT, …]`. The lines below are its rules:
 * `VERBS | GROUPS | RESOURCES [| NAMES]`, or `VERBS | PATHS`. The group `core` is the empty one; `+status` is that of the
 * resource before it.
 */
function readTable(text: string): BootstrapRole[] {
  const roles: (BootstrapRole & { readonly rules: PolicyRule[] })[] = [];
  for (const line of text.trim().split("\n")) {
    if (line.startsWith(" ")) roles.at(-1)?.rules.push(readRule(line.trim()));
    else roles.push({ ...readHead(line), rules: [] });
  }
  return roles;
}

function readHead(line: string): Omit<BootstrapRole, "rules"> {
  const [, namespace = "", name = "", subjects] = /^(?:([^/ ]+)\/)?(\S+)(?: =(.*))?$/.exec(line) ?? [];
  return { namespace, name, subjects: subjects?.split(", ").filter(Boolean).map(readSubject) };
}

function readSubject(text: string): BootstrapSubject {
  const [kind = "", name = ""] = text.trim().split(" ");
  return { kind: kinds[kind as keyof typeof kinds], name };
}

function readRule(line: string): PolicyRule {
  const [verbs = [], second = [], resources, resourceNames = []] = line.split(" | ").map((part) => part.split(" "));
  if (resources === undefined) {
    return { verbs, apiGroups: [], resources: [], resourceNames: [], nonResourceURLs: second };
  }
  const apiGroups = second.map((group) => (group === "core" ? "" : group));
  return { verbs, apiGroups, resources: spelledOut(resources), resourceNames, nonResourceURLs: [] };
}

function spelledOut(words: readonly string[]): string[] {
  const resources: string[] = [];
  for (const word of words) {
    const [before = ""] = resources.at(-1)?.split("/") ?? [];
    resources.push(word.startsWith("+") ? `${before}/${word.slice(1)}` : word);
  }
  return resources;
}
