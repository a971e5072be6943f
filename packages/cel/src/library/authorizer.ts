// SPDX-License-Identifier: Apache-2.0
import { boolType, type CelType, stringType, structType } from "../types/types.ts";
import { noSuchOverload, OpaqueValue, type Value } from "../values/value.ts";
import { type FunctionDecl, type Implementation, memberOverload, signature } from "./function.ts";

const prefix = "kubernetes.authorization";

/** The type of the variable `authorizer`. */
export const authorizerType: CelType = structType(`${prefix}.Authorizer`);
const pathCheck = structType(`${prefix}.PathCheck`);
const groupCheck = structType(`${prefix}.GroupCheck`);
/** The type of the variable `authorizer.requestResource`. */
export const resourceCheckType: CelType = structType(`${prefix}.ResourceCheck`);
const decisionType = structType(`${prefix}.Decision`);

/** An access that an expression checks. */
export interface AccessCheck {
  /** A ServiceAccount, `NAMESPACE/NAME`, in place of the user of the request. */
  readonly account?: string;
  readonly path?: string;
  readonly group?: string;
  readonly resource?: string;
  readonly subresource?: string;
  readonly namespace?: string;
  readonly name?: string;
  readonly verb?: string;
}

/** The decision about an access. */
interface AccessAnswer {
  readonly allowed: boolean;
  readonly reason: string;
}

/** Decides about the accesses that expressions check. */
export type CheckAccess = (check: AccessCheck) => AccessAnswer;

class AuthorizerPart extends OpaqueValue {
  readonly typeName: string;
  readonly access: AccessCheck;
  readonly decide: CheckAccess;

  constructor(type: CelType, access: AccessCheck, decide: CheckAccess) {
    super();
    this.typeName = type.name;
    this.access = access;
    this.decide = decide;
  }

  equals(other: Value): boolean {
    return this === other;
  }

  override toString(): string {
    return this.typeName;
  }

  with(type: CelType, more: AccessCheck): AuthorizerPart {
    return new AuthorizerPart(type, { ...this.access, ...more }, this.decide);
  }
}

class DecisionValue extends OpaqueValue {
  readonly typeName: string = decisionType.name;
  readonly answer: AccessAnswer;

  constructor(answer: AccessAnswer) {
    super();
    this.answer = answer;
  }

  equals(other: Value): boolean {
    return this === other;
  }

  override toString(): string {
    return this.typeName;
  }
}

/** The value of `authorizer`. */
export function authorizerValue(decide: CheckAccess): Value {
  return new AuthorizerPart(authorizerType, {}, decide);
}

/** The value of `authorizer.requestResource`. */
export function requestResourceValue(access: AccessCheck, decide: CheckAccess): Value {
  return new AuthorizerPart(resourceCheckType, access, decide);
}

const part =
  (run: (part: AuthorizerPart, args: readonly string[]) => Value): Implementation =>
  ([target, ...args]) =>
    target instanceof AuthorizerPart ? run(target, args.map(String)) : noSuchOverload;

const decided =
  (run: (answer: AccessAnswer) => Value): Implementation =>
  ([target]) =>
    target instanceof DecisionValue ? run(target.answer) : noSuchOverload;

const narrowed = (type: CelType, member: keyof AccessCheck): Implementation =>
  part((target, [value = ""]) => target.with(type, { [member]: value }));

const check: Implementation = part(
  (target, [verb = ""]) => new DecisionValue(target.decide({ ...target.access, verb })),
);

interface Row {
  readonly name: string;
  readonly id: string;
  readonly target: CelType;
  readonly args: number;
  readonly result: CelType;
  readonly run: Implementation;
}

const rows: readonly Row[] = [
  {
    name: "path",
    id: "authorizer_path",
    target: authorizerType,
    args: 1,
    result: pathCheck,
    run: narrowed(pathCheck, "path"),
  },
  {
    name: "group",
    id: "authorizer_group",
    target: authorizerType,
    args: 1,
    result: groupCheck,
    run: narrowed(groupCheck, "group"),
  },
  {
    name: "serviceAccount",
    id: "authorizer_serviceaccount",
    target: authorizerType,
    args: 2,
    result: authorizerType,
    run: part((target, [namespace, name]) => target.with(authorizerType, { account: `${namespace}/${name}` })),
  },
  {
    name: "resource",
    id: "groupcheck_resource",
    target: groupCheck,
    args: 1,
    result: resourceCheckType,
    run: narrowed(resourceCheckType, "resource"),
  },
  {
    name: "subresource",
    id: "resourcecheck_subresource",
    target: resourceCheckType,
    args: 1,
    result: resourceCheckType,
    run: narrowed(resourceCheckType, "subresource"),
  },
  {
    name: "namespace",
    id: "resourcecheck_namespace",
    target: resourceCheckType,
    args: 1,
    result: resourceCheckType,
    run: narrowed(resourceCheckType, "namespace"),
  },
  {
    name: "name",
    id: "resourcecheck_name",
    target: resourceCheckType,
    args: 1,
    result: resourceCheckType,
    run: narrowed(resourceCheckType, "name"),
  },
  { name: "check", id: "pathcheck_check", target: pathCheck, args: 1, result: decisionType, run: check },
  { name: "check", id: "resourcecheck_check", target: resourceCheckType, args: 1, result: decisionType, run: check },
  {
    name: "errored",
    id: "decision_errored",
    target: decisionType,
    args: 0,
    result: boolType,
    run: decided(() => false),
  },
  { name: "error", id: "decision_error", target: decisionType, args: 0, result: stringType, run: decided(() => "") },
  {
    name: "allowed",
    id: "decision_allowed",
    target: decisionType,
    args: 0,
    result: boolType,
    run: decided(({ allowed }) => allowed),
  },
  {
    name: "reason",
    id: "decision_reason",
    target: decisionType,
    args: 0,
    result: stringType,
    run: decided(({ reason }) => reason),
  },
  // Selectors do not narrow what a role grants here.
  {
    name: "fieldSelector",
    id: "authorizer_fieldselector",
    target: resourceCheckType,
    args: 1,
    result: resourceCheckType,
    run: part((target) => target),
  },
  {
    name: "labelSelector",
    id: "authorizer_labelselector",
    target: resourceCheckType,
    args: 1,
    result: resourceCheckType,
    run: part((target) => target),
  },
];

/**
 * The functions of the authorizer. A rule of a CRD has no authorizer to call them on, yet they are declared, so that
 * a call such as `self.name('x')` is refused for its types and not as unknown, as Kubernetes does.
 */
export const authorizerFunctions: readonly FunctionDecl[] = rows.map(({ name, id, target, args, result, run }) => ({
  name,
  overloads: [memberOverload(signature(id, [target, ...new Array<CelType>(args).fill(stringType)], result), run)],
}));
