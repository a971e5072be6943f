// SPDX-License-Identifier: Apache-2.0
// What the expressions of admission policies and of match conditions of webhooks can refer to.
import type { Environment, Fields } from "../check/environment.ts";
import { authorizerType, resourceCheckType } from "../library/authorizer.ts";
import {
  boolType,
  type CelType,
  dynType,
  intType,
  listOf,
  mapOf,
  stringType,
  structType,
  timestampType,
} from "../types/types.ts";

const fields = (types: Readonly<Record<string, CelType>>): Fields => new Map(Object.entries(types));

const requestName = "kubernetes.AdmissionRequest";
const kindName = "kubernetes.GroupVersionKind";
const resourceName = "kubernetes.GroupVersionResource";
const userName = "kubernetes.UserInfo";
const namespaceName = "kubernetes.Namespace";
const variablesName = "kubernetes.variables";

const objects: readonly (readonly [string, Fields])[] = [
  [kindName, fields({ group: stringType, version: stringType, kind: stringType })],
  [resourceName, fields({ group: stringType, version: stringType, resource: stringType })],
  [
    userName,
    fields({
      username: stringType,
      uid: stringType,
      groups: listOf(stringType),
      extra: mapOf(stringType, listOf(stringType)),
    }),
  ],
  [
    requestName,
    fields({
      kind: structType(kindName),
      resource: structType(resourceName),
      subResource: stringType,
      requestKind: structType(kindName),
      requestResource: structType(resourceName),
      requestSubResource: stringType,
      name: stringType,
      namespace: stringType,
      operation: stringType,
      userInfo: structType(userName),
      dryRun: boolType,
      options: dynType,
    }),
  ],
  [
    namespaceName,
    fields({
      metadata: structType(`${namespaceName}Metadata`),
      spec: structType(`${namespaceName}Spec`),
      status: structType(`${namespaceName}Status`),
    }),
  ],
  [
    `${namespaceName}Metadata`,
    fields({
      name: stringType,
      generateName: stringType,
      namespace: stringType,
      labels: mapOf(stringType, stringType),
      annotations: mapOf(stringType, stringType),
      UID: stringType,
      creationTimestamp: timestampType,
      deletionGracePeriodSeconds: intType,
      deletionTimestamp: timestampType,
      generation: intType,
      resourceVersion: stringType,
      finalizers: listOf(stringType),
    }),
  ],
  [`${namespaceName}Spec`, fields({ finalizers: listOf(stringType) })],
  [
    `${namespaceName}Status`,
    fields({ conditions: listOf(structType(`${namespaceName}Condition`)), phase: stringType }),
  ],
  [
    `${namespaceName}Condition`,
    fields({
      status: stringType,
      type: stringType,
      lastTransitionTime: timestampType,
      message: stringType,
      reason: stringType,
    }),
  ],
];

/** Which variables expressions have. */
export interface AdmissionScope {
  /** `params`: the policy has a paramKind. */
  readonly hasParams?: boolean;
  /** `authorizer`: not in messages. */
  readonly hasAuthorizer?: boolean;
  /** The types of `variables.NAME`; undefined: there is no `variables`. */
  readonly variables?: ReadonlyMap<string, CelType>;
  /** `Object{…}`, `JSONPatch{…}` and `jsonpatch.escapeKey`: only in mutations. */
  readonly hasPatchTypes?: boolean;
  /** `namespaceObject`: not in match conditions of webhooks. */
  readonly hasNamespace?: boolean;
}

/** The environment of expressions. */
export function admissionEnvironment(scope: AdmissionScope): Environment {
  const variables = new Map<string, CelType>([
    ["object", dynType],
    ["oldObject", dynType],
    ["request", structType(requestName)],
  ]);
  if (scope.hasNamespace) variables.set("namespaceObject", structType(namespaceName));
  if (scope.hasParams) variables.set("params", dynType);
  if (scope.hasAuthorizer) {
    variables.set("authorizer", authorizerType);
    variables.set("authorizer.requestResource", resourceCheckType);
  }
  if (scope.variables !== undefined) variables.set("variables", structType(variablesName));
  const own: readonly (readonly [string, Fields])[] =
    scope.variables === undefined ? [] : [[variablesName, scope.variables]];
  return { variables, objects: new Map([...objects, ...own]), hasPatchTypes: scope.hasPatchTypes ?? false };
}
