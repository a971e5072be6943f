// SPDX-License-Identifier: Apache-2.0

import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "@purlin/kube-objects/json";
import { labelName, pathSegmentName } from "@purlin/kube-objects/metadata";
import { objectAt } from "@purlin/kube-objects/object";
import { apiServiceRules } from "../aggregator/api-service.ts";
import { crdRules } from "../crd/crd-rules.ts";
import { isDeleting } from "../objects/object-members.ts";
import type { WriteRules } from "../registry/registry.ts";
import {
  allVerbs,
  defineKinds,
  type KindDefinition,
  type KindRules,
  type KindSource,
  statusSubresource,
  wholeMetaChecks,
  withEmptyLists,
} from "../strategy/kind-rules.ts";
import {
  ageColumn,
  ageOfObject,
  column,
  items,
  nameColumn,
  nameOfObject,
  type TablePrinter,
  text,
  wideColumn,
} from "../table/table.ts";
import {
  bootstrapClusterRoleBindings,
  bootstrapClusterRoles,
  bootstrapRoleBindings,
  bootstrapRoles,
  reconciledBinding,
  reconciledRole,
} from "./bootstrap-roles.ts";
import {
  clusterRoleBindingRules,
  clusterRoleRules,
  namespaceRules,
  roleBindingRules,
  roleRules,
} from "./server-kind-rules.ts";

const namespacePrinter: TablePrinter = {
  columns: [nameColumn, column("Status"), ageColumn],
  cells: (object, now) => [nameOfObject(object), text(object, "status", "phase"), ageOfObject(object, now)],
};

const serviceAccountPrinter: TablePrinter = {
  columns: [nameColumn, ageColumn],
  cells: (object, now) => [nameOfObject(object), ageOfObject(object, now)],
};

const mountableSecrets = "kubernetes.io/enforce-mountable-secrets";

/** The annotation is deprecated; an account that had it before gives no warning. */
const mountableSecretsWarning: NonNullable<KindRules["warnings"]> = (account, old) => {
  const isSet = (one: JsonObject): boolean =>
    Object.hasOwn(objectAt(one, ["metadata", "annotations"]), mountableSecrets);
  const advice = "deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets";
  return isSet(account) && !(old && isSet(old)) ? [`metadata.annotations[${mountableSecrets}]: ${advice}`] : [];
};

/** References to Secrets have only their names. */
function withSecretNames(account: JsonObject): JsonObject {
  const { secrets } = account;
  if (!isJsonArray(secrets) || secrets.length === 0) return account;
  const names = secrets.map((one) => (isJsonObject(one) && one["name"] !== undefined ? { name: one["name"] } : {}));
  return { ...account, secrets: names };
}

/** The printer of RoleBindings and ClusterRoleBindings. */
const bindingPrinter: TablePrinter = {
  columns: [nameColumn, column("Role"), ageColumn, ...["Users", "Groups", "ServiceAccounts"].map(wideColumn)],
  cells: bindingCells,
};

function bindingCells(object: JsonObject, now: number): JsonValue[] {
  const subjects = items(object, "subjects");
  const of = (kind: string): JsonObject[] => subjects.filter((one) => text(one, "kind") === kind);
  const namesOf = (kind: string): string =>
    of(kind)
      .map((one) => text(one, "name"))
      .join(", ");
  const accounts = of("ServiceAccount").map((one) => `${text(one, "namespace")}/${text(one, "name")}`);
  return [
    nameOfObject(object),
    `${text(object, "roleRef", "kind")}/${text(object, "roleRef", "name")}`,
    ageOfObject(object, now),
    namesOf("User"),
    namesOf("Group"),
    accounts.join(", "),
  ];
}

const rbacGroup = "rbac.authorization.k8s.io";
const rbacWrites: Partial<WriteRules> = { name: pathSegmentName, createOnUpdate: true };
const rbacChecks = { metaChecks: wholeMetaChecks };

/** The kinds that the server itself works with. Every server serves them. */
export const serverKinds: KindSource = ({ now, ruleMetrics }) => [
  ...defineKinds({ group: "", version: "v1", priority: 18_000 }, [
    {
      resource: "namespaces",
      kind: "Namespace",
      short: ["ns"],
      cluster: true,
      verbs: allVerbs.filter((verb) => verb !== "deletecollection"),
      subresources: [{ name: "finalize", verbs: ["update"] }, statusSubresource],
      write: { name: labelName, returnsDeleted: true },
      rules: { ...namespaceRules, printer: namespacePrinter },
      initialObjects: ["default", "kube-system", "kube-public", "kube-node-lease"].map(namespaceNamed),
    },
    {
      resource: "serviceaccounts",
      kind: "ServiceAccount",
      short: ["sa"],
      subresources: [
        {
          name: "token",
          verbs: ["create"],
          kind: { group: "authentication.k8s.io", version: "v1", kind: "TokenRequest" },
        },
      ],
      write: { returnsDeleted: true },
      rules: {
        metaChecks: wholeMetaChecks,
        printer: serviceAccountPrinter,
        warnings: mountableSecretsWarning,
        prepareCreate: withSecretNames,
        prepareUpdate: withSecretNames,
      },
    },
  ]),
  ...defineKinds({ group: "apiregistration.k8s.io", version: "v1", priority: 20_000 }, [
    {
      resource: "apiservices",
      kind: "APIService",
      cluster: true,
      categories: ["api-extensions"],
      subresources: [statusSubresource],
      write: { name: pathSegmentName },
      rules: { ...apiServiceRules, metaChecks: wholeMetaChecks },
    },
  ]),
  ...defineKinds({ group: "authentication.k8s.io", version: "v1", priority: 17_700 }, [
    { resource: "selfsubjectreviews", kind: "SelfSubjectReview", cluster: true, verbs: ["create"] },
    { resource: "tokenreviews", kind: "TokenReview", cluster: true, verbs: ["create"] },
  ]),
  ...defineKinds({ group: "authorization.k8s.io", version: "v1", priority: 17_600 }, [
    { resource: "localsubjectaccessreviews", kind: "LocalSubjectAccessReview", verbs: ["create"] },
    { resource: "selfsubjectaccessreviews", kind: "SelfSubjectAccessReview", cluster: true, verbs: ["create"] },
    { resource: "selfsubjectrulesreviews", kind: "SelfSubjectRulesReview", cluster: true, verbs: ["create"] },
    { resource: "subjectaccessreviews", kind: "SubjectAccessReview", cluster: true, verbs: ["create"] },
  ]),
  ...defineKinds({ group: rbacGroup, version: "v1", priority: 17_000 }, [
    {
      resource: "clusterrolebindings",
      kind: "ClusterRoleBinding",
      cluster: true,
      write: rbacWrites,
      rules: { ...clusterRoleBindingRules, ...rbacChecks, defaults: bindingDefaults, printer: bindingPrinter },
      initialObjects: bootstrapClusterRoleBindings(),
      reconcileInitial: reconciledBinding,
    },
    {
      resource: "clusterroles",
      kind: "ClusterRole",
      cluster: true,
      write: rbacWrites,
      rules: withEmptyLists(["rules"], { ...clusterRoleRules, ...rbacChecks }),
      initialObjects: bootstrapClusterRoles(),
      reconcileInitial: reconciledRole,
    },
    {
      resource: "rolebindings",
      kind: "RoleBinding",
      write: rbacWrites,
      rules: { ...roleBindingRules, ...rbacChecks, defaults: bindingDefaults, printer: bindingPrinter },
      initialObjects: bootstrapRoleBindings(),
      reconcileInitial: reconciledBinding,
    },
    {
      resource: "roles",
      kind: "Role",
      write: rbacWrites,
      rules: withEmptyLists(["rules"], { ...roleRules, ...rbacChecks }),
      initialObjects: bootstrapRoles(),
      reconcileInitial: reconciledRole,
    },
  ]),
  ...defineKinds({ group: "apiextensions.k8s.io", version: "v1", priority: 16_700 }, [
    {
      resource: "customresourcedefinitions",
      kind: "CustomResourceDefinition",
      short: ["crd", "crds"],
      storageVersion: "v1beta1",
      cluster: true,
      categories: ["api-extensions"],
      subresources: [statusSubresource],
      write: { unconditionalUpdate: false, generation: "spec" },
      // The objects of a definition are deleted first: a delete request only marks the definition.
      rules: { ...crdRules(now, ruleMetrics), acceptsAnyFinalizer: true, blocksDeletion: (crd) => !isDeleting(crd) },
    },
  ]),
];

/** The kinds with more roles and bindings to create at the start. */
export function withRoles(kinds: readonly KindDefinition[], roles: readonly JsonObject[]): readonly KindDefinition[] {
  return kinds.map((kind) => {
    const own = kind.type.group === rbacGroup ? roles.filter((role) => role["kind"] === kind.type.kind) : [];
    return own.length === 0 ? kind : { ...kind, initialObjects: [...(kind.initialObjects ?? []), ...own] };
  });
}

function namespaceNamed(name: string): JsonObject {
  return { apiVersion: "v1", kind: "Namespace", metadata: { name } };
}

/** References to roles, and to users and groups, are to the RBAC group. */
function bindingDefaults(binding: JsonObject): JsonObject {
  const { roleRef, subjects } = binding;
  return {
    ...binding,
    ...(isJsonObject(roleRef) && !roleRef["apiGroup"] && { roleRef: { ...roleRef, apiGroup: rbacGroup } }),
    ...(isJsonArray(subjects) && { subjects: subjects.map((one) => (isJsonObject(one) ? subjectDefaults(one) : one)) }),
  };
}

function subjectDefaults(subject: JsonObject): JsonObject {
  const { kind, apiGroup } = subject;
  const isInGroup = kind === "User" || kind === "Group";
  return isInGroup && (apiGroup === undefined || apiGroup === null) ? { ...subject, apiGroup: rbacGroup } : subject;
}
