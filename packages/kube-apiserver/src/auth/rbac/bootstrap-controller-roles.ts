// SPDX-License-Identifier: Apache-2.0

/** The ClusterRoles that kube-apiserver 1.36.3 creates for the controllers of Kubernetes, one ServiceAccount each. */
export const controllerRoles = `
system:controller:attachdetach-controller = account attachdetach-controller
  list watch | core | persistentvolumeclaims persistentvolumes
  get list watch | core | nodes
  patch update | core | nodes/status
  list watch | core | pods
  create patch update | core events.k8s.io | events
  create delete get list watch | storage.k8s.io | volumeattachments
  get list watch | storage.k8s.io | csidrivers
  get list watch | storage.k8s.io | csinodes
system:controller:certificate-controller = account certificate-controller
  delete get list watch | certificates.k8s.io | certificatesigningrequests
  update | certificates.k8s.io | certificatesigningrequests/approval +status
  approve | certificates.k8s.io | signers | kubernetes.io/kube-apiserver-client-kubelet
  sign | certificates.k8s.io | signers | kubernetes.io/kube-apiserver-client kubernetes.io/kube-apiserver-client-kubelet kubernetes.io/kubelet-serving kubernetes.io/legacy-unknown
  create | authorization.k8s.io | subjectaccessreviews
  create patch update | core events.k8s.io | events
system:controller:clusterrole-aggregation-controller = account clusterrole-aggregation-controller
  escalate get list patch update watch | rbac.authorization.k8s.io | clusterroles
system:controller:cronjob-controller = account cronjob-controller
  get list update watch | batch | cronjobs
  create delete get list patch update watch | batch | jobs
  update | batch | cronjobs/status
  update | batch | cronjobs/finalizers
  delete list watch | core | pods
  create patch update | core events.k8s.io | events
system:controller:daemon-set-controller = account daemon-set-controller
  get list watch | apps extensions | daemonsets
  update | apps extensions | daemonsets/status
  update | apps extensions | daemonsets/finalizers
  list watch | core | nodes
  create delete list patch watch | core | pods
  create | core | pods/binding
  create delete get list patch update watch | apps | controllerrevisions
  create patch update | core events.k8s.io | events
system:controller:deployment-controller = account deployment-controller
  get list update watch | apps extensions | deployments
  update | apps extensions | deployments/status
  update | apps extensions | deployments/finalizers
  create delete get list patch update watch | apps extensions | replicasets
  get list update watch | core | pods
  create patch update | core events.k8s.io | events
system:controller:device-taint-eviction-controller = account device-taint-eviction-controller
  delete get list watch | core | pods
  patch update | core | pods/status
  get list watch | resource.k8s.io | resourceclaims
  get list watch | resource.k8s.io | resourceslices
  get list watch | resource.k8s.io | deviceclasses
  create patch update | core events.k8s.io | events
system:controller:disruption-controller = account disruption-controller
  get list watch | apps extensions | deployments
  get list watch | apps extensions | replicasets
  get list watch | core | replicationcontrollers
  get list watch | policy | poddisruptionbudgets
  get list watch | apps | statefulsets
  update | policy | poddisruptionbudgets/status
  patch update | core | pods/status
  get | * | */scale
  create patch update | core events.k8s.io | events
system:controller:endpoint-controller = account endpoint-controller
  get list watch | core | pods services
  create delete get list update watch | core | endpoints
  create | core | endpoints/restricted
  create patch update | core events.k8s.io | events
system:controller:endpointslice-controller = account endpointslice-controller
  get list watch | core | nodes pods services
  update | core | services/finalizers
  create delete get list update watch | discovery.k8s.io | endpointslices
  create patch update | core events.k8s.io | events
system:controller:endpointslicemirroring-controller = account endpointslicemirroring-controller
  get list watch | core | endpoints services
  update | core | services/finalizers
  update | core | endpoints/finalizers
  create delete get list update watch | discovery.k8s.io | endpointslices
  create patch update | core events.k8s.io | events
system:controller:ephemeral-volume-controller = account ephemeral-volume-controller
  get list watch | core | pods
  update | core | pods/finalizers
  create get list watch | core | persistentvolumeclaims
  create patch update | core events.k8s.io | events
system:controller:expand-controller = account expand-controller
  get list patch update watch | core | persistentvolumes
  patch update | core | persistentvolumeclaims/status
  get list watch | core | persistentvolumeclaims
  create patch update | core events.k8s.io | events
system:controller:generic-garbage-collector = account generic-garbage-collector
  delete get list patch update watch | * | *
  create patch update | core events.k8s.io | events
system:controller:horizontal-pod-autoscaler = account horizontal-pod-autoscaler
  get list watch | autoscaling | horizontalpodautoscalers
  update | autoscaling | horizontalpodautoscalers/status
  get update | * | */scale
  list watch | core | pods
  list watch | metrics.k8s.io | pods
  get list watch | custom.metrics.k8s.io | *
  get list watch | external.metrics.k8s.io | *
  create patch update | core events.k8s.io | events
system:controller:job-controller = account job-controller
  get list patch update watch | batch | jobs
  update | batch | jobs/status
  update | batch | jobs/finalizers
  create delete list patch watch | core | pods
  create patch update | core events.k8s.io | events
system:controller:legacy-service-account-token-cleaner = account legacy-service-account-token-cleaner
  get | core | configmaps | kube-apiserver-legacy-service-account-token-tracking
  delete patch | core | secrets
system:controller:namespace-controller = account namespace-controller
  delete get list watch | core | namespaces
  update | core | namespaces/finalize +status
  delete deletecollection get list watch | * | *
system:controller:node-controller = account node-controller
  delete get list patch update watch | core | nodes
  patch update | core | nodes/status
  patch update | core | pods/status
  delete get list watch | core | pods
  create patch update | core events.k8s.io | events
system:controller:persistent-volume-binder = account persistent-volume-binder
  create delete get list update watch | core | persistentvolumes
  update | core | persistentvolumes/status
  get list update watch | core | persistentvolumeclaims
  update | core | persistentvolumeclaims/status
  create delete get list watch | core | pods
  get list watch | storage.k8s.io | storageclasses
  list watch | core | nodes
  create patch update | core events.k8s.io | events
  watch | core | events
system:controller:pod-garbage-collector = account pod-garbage-collector
  delete list watch | core | pods
  get list watch | core | nodes
  patch | core | pods/status
system:controller:pv-protection-controller = account pv-protection-controller
  get list update watch | core | persistentvolumes
  create patch update | core events.k8s.io | events
system:controller:pvc-protection-controller = account pvc-protection-controller
  get list update watch | core | persistentvolumeclaims
  update | core | persistentvolumeclaims/status
  get list watch | core | pods
  create patch update | core events.k8s.io | events
system:controller:replicaset-controller = account replicaset-controller
  get list update watch | apps extensions | replicasets
  update | apps extensions | replicasets/status
  update | apps extensions | replicasets/finalizers
  create delete list patch watch | core | pods
  create patch update | core events.k8s.io | events
system:controller:replication-controller = account replication-controller
  get list update watch | core | replicationcontrollers
  update | core | replicationcontrollers/status
  update | core | replicationcontrollers/finalizers
  create delete list patch watch | core | pods
  create patch update | core events.k8s.io | events
system:controller:resource-claim-controller = account resource-claim-controller
  get list watch | core | pods
  update | core | pods/finalizers
  create delete get list watch | resource.k8s.io | resourceclaims
  patch update | resource.k8s.io | resourceclaims +status
  patch update | core | pods/status
  create patch update | core events.k8s.io | events
  patch update | resource.k8s.io | resourceclaims/binding
system:controller:resourcequota-controller = account resourcequota-controller
  list watch | * | *
  update | core | resourcequotas/status
  create patch update | core events.k8s.io | events
system:controller:root-ca-cert-publisher = account root-ca-cert-publisher
  create update | core | configmaps
  create patch update | core events.k8s.io | events
system:controller:route-controller = account route-controller
  list watch | core | nodes
  patch | core | nodes/status
  create patch update | core events.k8s.io | events
system:controller:selinux-warning-controller = account selinux-warning-controller
  create patch update | core events.k8s.io | events
  get list watch | core | persistentvolumes
  get list watch | core | persistentvolumeclaims
  get list watch | core | pods
  get list watch | storage.k8s.io | csidrivers
system:controller:service-account-controller = account service-account-controller
  create | core | serviceaccounts
  create patch update | core events.k8s.io | events
system:controller:service-cidrs-controller = account service-cidrs-controller
  get list patch update watch | networking.k8s.io | servicecidrs
  patch update | networking.k8s.io | servicecidrs/finalizers
  patch update | networking.k8s.io | servicecidrs/status
  get list watch | networking.k8s.io | ipaddresses
  create patch update | core events.k8s.io | events
system:controller:service-controller = account service-controller
  get list watch | core | services
  patch update | core | services/status
  list watch | core | nodes
  create patch update | core events.k8s.io | events
system:controller:statefulset-controller = account statefulset-controller
  list watch | core | pods
  get list watch | apps | statefulsets
  update | apps | statefulsets/status
  update | apps | statefulsets/finalizers
  create delete get patch update | core | pods
  create delete get list patch update watch | apps | controllerrevisions
  create get list watch | core | persistentvolumeclaims
  delete update | core | persistentvolumeclaims
  update | core | pods/finalizers
  create patch update | core events.k8s.io | events
system:controller:ttl-after-finished-controller = account ttl-after-finished-controller
  delete get list watch | batch | jobs
  create patch update | core events.k8s.io | events
system:controller:ttl-controller = account ttl-controller
  list patch update watch | core | nodes
  create patch update | core events.k8s.io | events
system:controller:validatingadmissionpolicy-status-controller = account validatingadmissionpolicy-status-controller
  get list watch | admissionregistration.k8s.io | validatingadmissionpolicies
  get patch update | admissionregistration.k8s.io | validatingadmissionpolicies/status
  create patch update | core events.k8s.io | events
system:controller:volumeattributesclass-protection-controller = account volumeattributesclass-protection-controller
  get list watch | core | persistentvolumeclaims
  get list watch | core | persistentvolumes
  get list update watch | storage.k8s.io | volumeattributesclasses
  create patch update | core events.k8s.io | events
`;

/** The Roles that it creates, by namespace. */
export const namespacedRoles = `
kube-public/system:controller:bootstrap-signer = account bootstrap-signer
  get list watch | core | configmaps
  update | core | configmaps | cluster-info
  create patch update | core events.k8s.io | events
kube-system/extension-apiserver-authentication-reader = user system:kube-controller-manager, user system:kube-scheduler
  get list watch | core | configmaps | extension-apiserver-authentication
kube-system/system::leader-locking-kube-controller-manager = user system:kube-controller-manager, account kube-controller-manager, account leader-election-controller
  create get list update watch | coordination.k8s.io | leases
  create get list update watch | coordination.k8s.io | leasecandidates
kube-system/system::leader-locking-kube-scheduler = user system:kube-scheduler, account kube-scheduler
  create get list update watch | coordination.k8s.io | leases
  create get list update watch | coordination.k8s.io | leasecandidates
kube-system/system:controller:bootstrap-signer = account bootstrap-signer
  get list watch | core | secrets
kube-system/system:controller:cloud-provider = account cloud-provider
  create get list watch | core | configmaps
kube-system/system:controller:token-cleaner = account token-cleaner
  delete get list watch | core | secrets
  create patch update | core events.k8s.io | events
`;
