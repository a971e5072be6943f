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
  param,
  stringType,
  structType,
  type TypeKind,
  timestampType,
} from "../types/types.ts";

const fields = (types: Readonly<Record<string, CelType>>): Fields => new Map(Object.entries(types));

const requestName = "kubernetes.AdmissionRequest";
const kindName = "kubernetes.GroupVersionKind";
const resourceName = "kubernetes.GroupVersionResource";
const userName = "kubernetes.UserInfo";
const namespaceName = "kubernetes.Namespace";
const variablesName = "kubernetes.variables";

const objectTypes: readonly (readonly [string, Fields])[] = [
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
    scope.variables === undefined ? [] : [[variablesName, variableFields(scope.variables)]];
  return { variables, objects: new Map([...objectTypes, ...own]), hasPatchTypes: scope.hasPatchTypes ?? false };
}

/** The type of objects of one kind, and the types of the objects in them by name. */
export interface ObjectType {
  readonly type: CelType;
  readonly objects: ReadonlyMap<string, Fields>;
}

/** What the expressions of a policy refer to when the kinds of its objects are known. */
interface TypedScope {
  readonly object: ObjectType;
  /** Undefined: there is no `params`. */
  readonly params?: ObjectType | undefined;
  readonly variables: ReadonlyMap<string, CelType>;
}

/** The environment in which the expressions of a policy are checked for one kind. As in the reference, it lacks `authorizer.requestResource`. */
export function typedEnvironment({ object, params, variables }: TypedScope): Environment {
  return {
    variables: new Map([
      ["object", object.type],
      ["oldObject", object.type],
      ["request", structType(requestName)],
      ["namespaceObject", structType(namespaceName)],
      ["authorizer", authorizerType],
      ["variables", structType(variablesName)],
      ...(params === undefined ? [] : [["params", params.type] as const]),
    ]),
    objects: new Map([
      ...objectTypes,
      ...object.objects,
      ...(params?.objects ?? []),
      [variablesName, variableFields(variables)] as const,
    ]),
  };
}

function variableFields(variables: ReadonlyMap<string, CelType>): Fields {
  return new Map([...variables].map(([name, type]) => [name, variableType(type)]));
}

const plainKinds: ReadonlySet<TypeKind> = new Set([
  "bool",
  "bytes",
  "double",
  "duration",
  "int",
  "null",
  "string",
  "timestamp",
  "uint",
] as const);

/** The type of a variable where it is used: the reference keeps plain types, lists and maps, and any other type becomes dynamic. */
function variableType(type: CelType): CelType {
  if (plainKinds.has(type.kind)) return type;
  if (type.kind === "list") return listOf(variableType(param(type, 0)));
  if (type.kind === "map") return mapOf(variableType(param(type, 0)), variableType(param(type, 1)));
  return dynType;
}
