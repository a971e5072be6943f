// SPDX-License-Identifier: Apache-2.0
// A user that writes a policy with parameters must be able to read them: the policy reveals what they say.
import { forbiddenValue, invalid } from "@purlin/kube-objects/errors";
import { isJsonObject, type JsonObject, jsonEqual, sortedKeys } from "@purlin/kube-objects/json";
import { memberAt, objectAt, parseApiVersion, stringAt } from "@purlin/kube-objects/object";
import type { Authorizer } from "../auth/authorizer.ts";
import type { EscalationCheck } from "../auth/rbac/escalation.ts";
import { mastersGroup, type User } from "../auth/user.ts";
import { metaOf } from "../objects/object-meta.ts";
import type { Catalog } from "../registry/registry.ts";
import type { Store } from "../store/store.ts";

interface ParamAccessDeps {
  readonly store: Store<JsonObject>;
  readonly catalog: () => Catalog;
  readonly authorizer: Authorizer;
}

const group = "admissionregistration.k8s.io";
const policies = ["validatingadmissionpolicies", "mutatingadmissionpolicies"];
const bindings = ["validatingadmissionpolicybindings", "mutatingadmissionpolicybindings"];

/** Users write policies only with parameters that they may read. */
export function paramAccessCheck(deps: ParamAccessDeps): EscalationCheck {
  return ({ type, user, object, old }) => {
    if (type.group !== group || user.groups.includes(mastersGroup)) return;
    const spec = objectAt(object, ["spec"]);
    const problem = policies.includes(type.resource)
      ? policyProblem({ user, spec, old }, deps)
      : bindings.includes(type.resource)
        ? bindingProblem({ user, spec, old, resource: type.resource }, deps)
        : undefined;
    if (problem === undefined) return;
    const field = policies.includes(type.resource) ? "spec.paramKind" : "spec.paramRef";
    throw invalid({ group, kind: type.kind }, metaOf(object).name ?? "", [forbiddenValue(field, problem)]);
  };
}

interface Written {
  readonly user: User;
  readonly spec: JsonObject;
  readonly old: JsonObject | undefined;
}

function policyProblem({ user, spec, old }: Written, deps: ParamAccessDeps): string | undefined {
  const paramKind = memberAt(spec, ["paramKind"]);
  if (!isJsonObject(paramKind) || jsonEqual(paramKind, memberAt(old ?? {}, ["spec", "paramKind"]) ?? null)) {
    return undefined;
  }
  const { kind, apiVersion, access } = kindAccess(paramKind, deps);
  const decision = deps.authorizer(user, { ...access, verb: "get", name: "*", namespace: "*" });
  if (decision.allowed) return undefined;
  const on = `all objects of the referenced paramKind (kind=${kind}, apiVersion=${apiVersion})`;
  return `user ${shown(user)} must have "get" permission on ${on}`;
}

function bindingProblem(
  { user, spec, old, resource }: Written & { readonly resource: string },
  deps: ParamAccessDeps,
): string | undefined {
  const paramRef = memberAt(spec, ["paramRef"]);
  const oldSpec = objectAt(old ?? {}, ["spec"]);
  const isSame = old !== undefined && stringAt(oldSpec, ["policyName"]) === stringAt(spec, ["policyName"]);
  if (!isJsonObject(paramRef) || (isSame && jsonEqual(paramRef, memberAt(oldSpec, ["paramRef"]) ?? null))) {
    return undefined;
  }
  const owner = resource.replace(/ybindings$/, "ies");
  const policy = deps.store.get(`/${group}/${owner}/${stringAt(spec, ["policyName"])}`)?.value;
  const { access } = kindAccess(objectAt(policy ?? {}, ["spec", "paramKind"]), deps);
  const name = stringAt(paramRef, ["name"]);
  const namespace = stringAt(paramRef, ["namespace"]) || "*";
  const verb = name === "" ? "list" : "get";
  const decision = deps.authorizer(user, { ...access, verb, name: name || "*", namespace });
  if (decision.allowed) return undefined;
  return `user ${shown(user)} does not have "${verb}" permission on the object referenced by paramRef`;
}

/** What is read: everything that may be meant when the kind is not known. */
function kindAccess(paramKind: JsonObject, { catalog }: ParamAccessDeps) {
  const [kind, apiVersion] = [stringAt(paramKind, ["kind"]), stringAt(paramKind, ["apiVersion"])];
  const parsed = apiVersion === "" ? undefined : parseApiVersion(apiVersion);
  const resource =
    parsed &&
    catalog()
      .group(parsed.group)
      ?.versions.find(({ version }) => version === parsed.version);
  const access = {
    kind: "resource" as const,
    group: parsed?.group ?? "*",
    version: parsed?.version ?? "*",
    resource: resource?.resources.find((one) => one.kind === kind)?.resource ?? "*",
    subresource: "",
  };
  return { kind, apiVersion, access };
}

/** A user as Go prints it. */
function shown({ name, uid = "", groups, extra = {} }: User): string {
  const entries = sortedKeys(extra).map((key) => `${key}:[${extra[key]?.join(" ")}]`);
  return `&{${name} ${uid} [${groups.join(" ")}] map[${entries.join(" ")}]}`;
}
