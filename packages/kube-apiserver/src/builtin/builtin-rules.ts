// SPDX-License-Identifier: Apache-2.0

import { type FieldError, invalidValue } from "@purlin/kube-objects/errors";
import { type JsonObject, type JsonValue, jsonEqual } from "@purlin/kube-objects/json";
import { memberAt, objectAt, stringAt } from "@purlin/kube-objects/object";
import { crdRules } from "../crd/crd-rules.ts";
import type { ResourceType } from "../registry/resource-type.ts";
import { isDeleting, withMember } from "../rest/object-meta.ts";
import { configMapRules, secretRules } from "./config-data.ts";
import { daemonSetRules } from "./daemon-set-rules.ts";
import { endpointSliceRules, endpointsRules } from "./endpoint-rules.ts";
import { coreEventRules, namedEventRules } from "./event-rules.ts";
import type { KindRules } from "./kind-rules.ts";
import { namespaceRules } from "./namespace-rules.ts";
import { listAt, notNegative } from "./pods/checks.ts";
import type { FindAccount } from "./pods/pod-admission.ts";
import { podRules } from "./pods/pod-rules.ts";
import { clusterRoleBindingRules, clusterRoleRules, roleBindingRules, roleRules } from "./rbac-rules.ts";
import { textFields } from "./read-field.ts";
import {
  allocated,
  isExternal,
  needsAddress,
  needsHealthPort,
  needsPorts,
  nodePortErrors,
  type TakenPlaces,
} from "./services/allocation.ts";
import { serviceErrors } from "./services/service-errors.ts";
import { webhookRules } from "./webhook-rules.ts";
import { cronJobRules, jobRules } from "./workloads/job-rules.ts";
import { deploymentRules, replicaSetRules, statefulSetRules } from "./workloads/workload-rules.ts";

/** Members that only some Services have: when a Service becomes one of the others, they go, unless they were changed too. */
const DEPENDENT: readonly (readonly [needs: (spec: JsonObject) => boolean, members: readonly string[]])[] = [
  [needsAddress, ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "internalTrafficPolicy"]],
  [needsHealthPort, ["healthCheckNodePort"]],
  [(spec) => stringAt(spec, ["type"]) === "LoadBalancer", ["allocateLoadBalancerNodePorts", "loadBalancerClass"]],
  [isExternal, ["externalTrafficPolicy"]],
];

const leaseRules: KindRules = {
  validate: (lease) => {
    const spec = objectAt(lease, ["spec"]);
    const seconds = memberAt(spec, ["leaseDurationSeconds"]);
    const isOver = typeof seconds === "number" && seconds <= 0;
    return [
      ...(isOver ? [invalidValue("spec.leaseDurationSeconds", seconds, "must be greater than 0")] : []),
      ...notNegative("leaseTransitions")(spec, "spec"),
    ];
  },
};

const NO_RULES: KindRules = {};

interface BuiltinRulesOptions {
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

/**
 * The rules of a kind with lists that are always written. The reference's storage cannot tell an empty one from none, so it comes back
 * as null; yet whoever sent an empty one has come to own it.
 */
export function withEmptyLists(members: readonly string[], rules: KindRules = {}): KindRules {
  const asNull = (object: JsonObject): JsonObject =>
    members.reduce((made, member) => (isEmpty(made[member]) ? withMember(made, member, null) : made), object);
  return {
    ...rules,
    decode: (object, sent) =>
      members.reduce((made, member) => (isEmpty(sent[member]) ? withMember(made, member, []) : made), object),
    prepareCreate: asNull,
    prepareUpdate: asNull,
  };
}

function isEmpty(value: JsonValue | undefined): boolean {
  return Array.isArray(value) && value.length === 0;
}

/** Rules of Services. Nothing proxies for them here, yet each gets an address, and ports where it is to be reached by them. */
function serviceRules(taken: TakenPlaces): KindRules {
  return {
    prepareCreate: (object) => ({ ...object, spec: allocated(objectAt(object, ["spec"]), taken) }),
    prepareUpdate: (object, old, endpoint) =>
      endpoint === "status"
        ? object
        : { ...object, spec: allocated(settled(objectAt(object, ["spec"]), objectAt(old, ["spec"])), taken) },
    validate: serviceErrors,
    validateNew: (object) => nodePortErrors(objectAt(object, ["spec"]), {}, taken),
    validateChange: (object, old) => [
      ...addressErrors(objectAt(object, ["spec"]), objectAt(old, ["spec"])),
      ...nodePortErrors(objectAt(object, ["spec"]), objectAt(old, ["spec"]), taken),
    ],
    warnings: (object) =>
      stringAt(object, ["spec", "type"]) !== "ExternalName" && stringAt(object, ["spec", "externalName"]) !== ""
        ? ['spec.externalName is ignored when spec.type is not "ExternalName"']
        : [],
    fields: textFields("spec.clusterIP", "spec.type"),
  };
}

function addressErrors(spec: JsonObject, old: JsonObject): FieldError[] {
  const [now, before] = [stringAt(spec, ["clusterIP"]), stringAt(old, ["clusterIP"])];
  const isKept = !needsAddress(spec) || !needsAddress(old) || before === "" || now === before;
  return isKept ? [] : [invalidValue("spec.clusterIPs[0]", [now], "may not change once set")];
}

/** The spec of a changed Service: with the address and ports it had, without what it needs no more. */
function settled(spec: JsonObject, old: JsonObject): JsonObject {
  return withoutNodePorts(withoutDependent(withKept(spec, old), old), old);
}

/** Whoever leaves out the address on an update means the one there is; ports of nodes stay with their ports. */
function withKept(spec: JsonObject, old: JsonObject): JsonObject {
  const keepsAddress = needsAddress(spec) && needsAddress(old) && stringAt(spec, ["clusterIP"]) === "";
  const { clusterIP, clusterIPs, ipFamilies, ipFamilyPolicy } = old;
  const kept = keepsAddress
    ? Object.entries({ clusterIP, clusterIPs, ipFamilies, ipFamilyPolicy }).filter(
        ([name, value]) => value !== undefined && (spec[name] === undefined || name === "clusterIP"),
      )
    : [];
  const ports = needsPorts(spec) && needsPorts(old) ? withNodePortsOf(spec, old) : spec;
  return { ...ports, ...(Object.fromEntries(kept) as JsonObject) };
}

function withNodePortsOf(spec: JsonObject, old: JsonObject): JsonObject {
  const place = (port: JsonObject): string => `${String(port["port"])}/${stringAt(port, ["protocol"])}`;
  // Turned round, so that the first of several at one place is the one that stays.
  const olds = new Map(
    listAt(old, "ports")
      .reverse()
      .map((port) => [place(port), port]),
  );
  const ports = listAt(spec, "ports");
  const filled = ports.map((port) => {
    const nodePort = memberAt(port, ["nodePort"]) || memberAt(olds.get(place(port)) ?? {}, ["nodePort"]);
    return nodePort ? { ...port, nodePort } : port;
  });
  return ports.length === 0 ? spec : { ...spec, ports: filled };
}

function withoutDependent(spec: JsonObject, old: JsonObject): JsonObject {
  const gone = DEPENDENT.flatMap(([needs, members]) => (needs(old) && !needs(spec) ? members : [])).filter((name) =>
    jsonEqual((spec[name] ?? null) as JsonValue, (old[name] ?? null) as JsonValue),
  );
  return Object.fromEntries(Object.entries(spec).filter(([name]) => !gone.includes(name)));
}

function withoutNodePorts(spec: JsonObject, old: JsonObject): JsonObject {
  const numbers = (one: JsonObject): JsonValue[] =>
    listAt(one, "ports").map((port) => memberAt(port, ["nodePort"]) ?? 0);
  if (!isExternal(old) || isExternal(spec) || !jsonEqual(numbers(spec), numbers(old))) {
    return spec;
  }
  const ports = listAt(spec, "ports").map(({ nodePort: _, ...port }) => port as JsonObject);
  return ports.length === 0 ? spec : { ...spec, ports };
}
