// SPDX-License-Identifier: Apache-2.0
// What the expressions of admission policies and of match conditions of webhooks can refer to.
// Checks the expressions of a policy against the schemas of the kinds that it matches.

import { memoize } from "@purlin/base";
import type { Schema } from "@purlin/kube-objects/schema";
import type { Environment, Fields } from "../check/environment.ts";
import { authorizerType, resourceCheckType } from "../library/authorizer.ts";
import { typeCheck } from "../program.ts";
import { celTypeOf, DeclaredObjects, declare } from "../schema/decl-type.ts";
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
export const variablesName = "kubernetes.variables";

const objectTypes: ReadonlyMap<string, Fields> = new Map<string, Fields>([
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
]);

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

/** The environment of expressions. A scope, which thousands of expressions may share, does not change. */
export const admissionEnvironment: (scope: AdmissionScope) => Environment = memoize((scope) => {
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
});

/** The type of objects of one kind, and the types of the objects in them by name. */
export interface ObjectType {
  readonly type: CelType;
  readonly objects: Environment["objects"];
}

/** What the expressions of a policy refer to when the kinds of its objects are known. */
interface TypedScope {
  readonly object: ObjectType;
  /** Undefined: there is no `params`. */
  readonly params?: ObjectType | undefined;
  readonly variables: ReadonlyMap<string, CelType>;
}

/** The environment in which the expressions of a policy are checked for one kind. As in the reference, it lacks `authorizer.requestResource`. */
function typedEnvironment({ object, params, variables }: TypedScope): Environment {
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
    objects: {
      get: (name) =>
        name === variablesName
          ? variableFields(variables)
          : (params?.objects.get(name) ?? object.objects.get(name) ?? objectTypes.get(name)),
    },
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

/** The type of objects whose schema is not known. */
export const anyObject: ObjectType = { type: dynType, objects: new Map() };

/** The type of the objects that a published schema, without references, describes. */
export function objectTypeOf(schema: Schema, kind: string): ObjectType {
  const decl = declare(withUnions(schema), true);
  if (decl === undefined) return anyObject;
  const objects = new DeclaredObjects();
  // A number follows the kind in the names of the reference as well: there, the nanosecond at which it checks.
  return { type: celTypeOf(decl, `${kind}1`, objects), objects };
}

/** Published schemas of built-in kinds mark the union of integers and strings by a format; those of custom resources by an extension. */
function withUnions(schema: Schema): Schema {
  if (schema.format === "int-or-string") return { "x-kubernetes-int-or-string": true };
  const { properties, items, additionalProperties } = schema;
  return {
    ...schema,
    ...(properties && { properties: mapValues(properties, withUnions) }),
    ...(items && { items: withUnions(items) }),
    ...(typeof additionalProperties === "object" && { additionalProperties: withUnions(additionalProperties) }),
  };
}

function mapValues<T>(members: Readonly<Record<string, T>>, change: (member: T) => T): Record<string, T> {
  return Object.fromEntries(Object.entries(members).map(([name, member]) => [name, change(member)]));
}

/** A variable of a policy, as it is written. */
interface VariableText {
  readonly name: string;
  readonly expression: string;
}

/** Checks expressions for objects of one kind: the function answers with what is wrong with an expression, as the reference prints it. */
export function typeChecker(
  object: ObjectType,
  params: ObjectType | undefined,
  variables: readonly VariableText[],
): (expression: string) => string | undefined {
  const types = new Map<string, CelType>();
  for (const { name, expression } of variables) {
    const type = typeCheck(expression, typedEnvironment({ object, params, variables: types }));
    types.set(name, "problem" in type ? dynType : type);
  }
  const environment = typedEnvironment({ object, params, variables: types });
  return (expression) => {
    const type = typeCheck(expression, environment);
    return "problem" in type ? type.problem : undefined;
  };
}
