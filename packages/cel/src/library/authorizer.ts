// SPDX-License-Identifier: Apache-2.0
import { boolType, type CelType, stringType, structType } from "../check/types.ts";
import { type FunctionDecl, memberOverload, signature } from "./function.ts";

const authorizer = structType("kubernetes.authorization.Authorizer");
const pathCheck = structType("kubernetes.authorization.PathCheck");
const groupCheck = structType("kubernetes.authorization.GroupCheck");
const resourceCheck = structType("kubernetes.authorization.ResourceCheck");
const decision = structType("kubernetes.authorization.Decision");

type Row = readonly [name: string, id: string, target: CelType, args: number, result: CelType];

const rows: readonly Row[] = [
  ["path", "authorizer_path", authorizer, 1, pathCheck],
  ["group", "authorizer_group", authorizer, 1, groupCheck],
  ["serviceAccount", "authorizer_serviceaccount", authorizer, 2, authorizer],
  ["resource", "groupcheck_resource", groupCheck, 1, resourceCheck],
  ["subresource", "resourcecheck_subresource", resourceCheck, 1, resourceCheck],
  ["namespace", "resourcecheck_namespace", resourceCheck, 1, resourceCheck],
  ["name", "resourcecheck_name", resourceCheck, 1, resourceCheck],
  ["check", "pathcheck_check", pathCheck, 1, decision],
  ["check", "resourcecheck_check", resourceCheck, 1, decision],
  ["errored", "decision_errored", decision, 0, boolType],
  ["error", "decision_error", decision, 0, stringType],
  ["allowed", "decision_allowed", decision, 0, boolType],
  ["reason", "decision_reason", decision, 0, stringType],
  ["fieldSelector", "authorizer_fieldselector", resourceCheck, 1, resourceCheck],
  ["labelSelector", "authorizer_labelselector", resourceCheck, 1, resourceCheck],
];

/**
 * The functions of the authorizer. A rule of a CRD has no authorizer to call them on, yet they are declared, so that
 * a call such as `self.name('x')` is refused for its types and not as unknown, as Kubernetes does.
 */
export const authorizerFunctions: readonly FunctionDecl[] = rows.map(([name, id, target, args, result]) => ({
  name,
  overloads: [memberOverload(signature(id, [target, ...new Array<CelType>(args).fill(stringType)], result))],
}));
