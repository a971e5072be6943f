// SPDX-License-Identifier: Apache-2.0
import {
  type FieldError,
  firstErrors,
  forbidden,
  invalidValue,
  requiredValue,
  unsupportedValue,
} from "@purlin/kube-objects/errors";
import { isJsonObject, type JsonObject, jsonEqual } from "@purlin/kube-objects/json";
import { dns1123SubdomainProblems, pathSegmentName } from "@purlin/kube-objects/metadata";
import { memberAt, objectAt, stringAt } from "@purlin/kube-objects/object";
import { type Check, eachItem, listAt, selectorProblems } from "../objects/checks.ts";
import { isDeleting, metaOf, textFields, withMember, withMeta } from "../objects/object-members.ts";
import { type KindRules, wholeMetaChecks } from "../strategy/kind-rules.ts";

const finalizer = "kubernetes";
const nameLabel = "kubernetes.io/metadata.name";
const undeletable: ReadonlySet<string> = new Set(["default", "kube-system", "kube-public"]);

/** Every namespace carries its name as a label, so that selectors can pick it. */
function withNameLabel(object: JsonObject): JsonObject {
  const { name = "", labels } = metaOf(object);
  // A copy of very many labels takes long.
  if (name === "" || labels?.[nameLabel] === name) return object;
  return withMeta(object, { labels: { ...labels, [nameLabel]: name } });
}

/** The same for an object without a name yet, whose name the server generates. */
function withNameLabelAlways(object: JsonObject): JsonObject {
  const metadata = objectAt(object, ["metadata"]);
  const [labels, name] = [objectAt(metadata, ["labels"]), metadata["name"] ?? ""];
  if (labels[nameLabel] === name) return object;
  return { ...object, metadata: { ...metadata, labels: { ...labels, [nameLabel]: name } } };
}

function finalizers(object: JsonObject): readonly unknown[] {
  const value = memberAt(object, ["spec", "finalizers"]);
  return Array.isArray(value) ? value : [];
}

/** Rules of Namespaces. */
export const namespaceRules: KindRules = {
  decode: withNameLabel,
  defaults: withNameLabelAlways,
  metaChecks: wholeMetaChecks,
  prepareCreate: (object) => {
    const own = finalizers(object);
    const spec = own.includes(finalizer)
      ? objectAt(object, ["spec"])
      : { ...objectAt(object, ["spec"]), finalizers: [...own, finalizer] };
    return { ...object, spec: spec as JsonObject, status: { phase: "Active" } };
  },
  prepareUpdate: (object, old, endpoint) => {
    switch (endpoint) {
      case "finalize":
        return withMember(object, "status", old["status"]);
      case "status":
        // The default phase is Active.
        return withMember(
          { ...object, status: { phase: "Active", ...objectAt(object, ["status"]) } },
          "spec",
          old["spec"],
        );
      default:
        return withMember(
          { ...object, spec: { ...objectAt(object, ["spec"]), ...finalizersOf(old) } },
          "status",
          old["status"],
        );
    }
  },
  validate: specErrors,
  validateChange: phaseErrors,
  requireDeletable: (object) => {
    const { name = "" } = metaOf(object);
    if (undeletable.has(name)) {
      throw forbidden({ group: "", resource: "namespaces" }, name, "this namespace may not be deleted");
    }
  },
  markDeleted: (object) => ({ ...object, status: { ...objectAt(object, ["status"]), phase: "Terminating" } }),
  // Its content goes first; the controller that sees to it then takes this away.
  blocksDeletion: (object) => finalizers(object).length > 0,
  fields: textFields("status.phase"),
  fieldProblem: (field) => (field === "metadata.namespace" ? `field label not supported: ${field}` : undefined),
};

/** Finalizers of a namespace name whose they are. */
function specErrors(object: JsonObject): FieldError[] {
  const why = "name is neither a standard finalizer name nor is it fully qualified";
  return finalizers(object)
    .map(String)
    .filter((name) => name !== finalizer && !name.includes("/"))
    .map((name) => invalidValue("spec.finalizers", name, why));
}

/** The phase follows from whether the namespace is being deleted. */
function phaseErrors(object: JsonObject): FieldError[] {
  const phase = stringAt(object, ["status", "phase"]);
  const isGoing = isDeleting(object);
  if (isGoing && phase !== "Terminating") {
    return [invalidValue("status.Phase", phase, "may only be 'Terminating' if `deletionTimestamp` is not empty")];
  }
  if (!isGoing && phase !== "Active") {
    return [invalidValue("status.Phase", phase, "may only be 'Active' if `deletionTimestamp` is empty")];
  }
  return [];
}

/** Only the finalize subresource changes the finalizers of a namespace. */
function finalizersOf(old: JsonObject): JsonObject {
  const value = memberAt(old, ["spec", "finalizers"]);
  return value === undefined ? {} : { finalizers: value };
}

const rbacGroup = "rbac.authorization.k8s.io";

function hasSome(rule: JsonObject, name: string): boolean {
  const value = memberAt(rule, [name]);
  return Array.isArray(value) && value.length > 0;
}

/** What is wrong with a rule: it is about resources, or about paths, and only clusters have paths. */
function ruleErrors(isNamespaced: boolean): Check {
  return (rule, path) => {
    const verbs = hasSome(rule, "verbs")
      ? []
      : [requiredValue(`${path}.verbs`, "verbs must contain at least one value")];
    const urls = memberAt(rule, ["nonResourceURLs"]);
    if (hasSome(rule, "nonResourceURLs")) {
      const wrong = (why: string): FieldError => invalidValue(`${path}.nonResourceURLs`, urls ?? null, why);
      const isMixed = ["apiGroups", "resources", "resourceNames"].some((name) => hasSome(rule, name));
      return [
        ...verbs,
        ...(isNamespaced ? [wrong("namespaced rules cannot apply to non-resource URLs")] : []),
        ...(isMixed ? [wrong("rules cannot apply to both regular resources and non-resource URLs")] : []),
      ];
    }
    const needed = (name: string, what: string): FieldError[] =>
      hasSome(rule, name) ? [] : [requiredValue(`${path}.${name}`, `resource rules must supply at least one ${what}`)];
    return [...verbs, ...needed("apiGroups", "api group"), ...needed("resources", "resource")];
  };
}

/** The checks of a member of the object itself have no path before it. */
function ofItems(object: JsonObject, name: string, check: Check): FieldError[] {
  return firstErrors(listAt(object, name), (item, index) => check(item, `${name}[${index}]`));
}

function aggregationErrors(role: JsonObject): readonly FieldError[] {
  if (!isJsonObject(memberAt(role, ["aggregationRule"]))) return [];
  const path = "aggregationRule.clusterRoleSelectors";
  const selectors = listAt(role, "aggregationRule", "clusterRoleSelectors");
  if (selectors.length === 0) {
    return [requiredValue(path, "at least one clusterRoleSelector required if aggregationRule is non-nil")];
  }
  return eachItem("clusterRoleSelectors", (selector, at) => {
    const own = selectorProblems(selector, at);
    return own.length === 0 ? [] : [...own, invalidValue(at, null, "invalid label selector.")];
  })(objectAt(role, ["aggregationRule"]), "aggregationRule");
}

export const roleRules: KindRules = { validate: (role) => ofItems(role, "rules", ruleErrors(true)) };

export const clusterRoleRules: KindRules = {
  validate: (role) => [...ofItems(role, "rules", ruleErrors(false)), ...aggregationErrors(role)],
};

function subjectErrors(isNamespaced: boolean): Check {
  return (subject, path) => {
    const [kind, name, group] = [
      stringAt(subject, ["kind"]),
      stringAt(subject, ["name"]),
      stringAt(subject, ["apiGroup"]),
    ];
    const unnamed = name === "" ? [requiredValue(`${path}.name`)] : [];
    switch (kind) {
      case "ServiceAccount":
        return [
          ...unnamed,
          ...(name === ""
            ? []
            : dns1123SubdomainProblems(name).map((text) => invalidValue(`${path}.name`, name, text))),
          ...(group === "" ? [] : [unsupportedValue(`${path}.apiGroup`, group, [""])]),
          ...(isNamespaced || stringAt(subject, ["namespace"]) !== "" ? [] : [requiredValue(`${path}.namespace`)]),
        ];
      case "User":
      case "Group":
        return [...unnamed, ...(group === rbacGroup ? [] : [unsupportedValue(`${path}.apiGroup`, group, [rbacGroup])])];
      default:
        return [...unnamed, unsupportedValue(`${path}.kind`, kind, ["ServiceAccount", "User", "Group"])];
    }
  };
}

function roleRefErrors(object: JsonObject, kinds: readonly string[]): FieldError[] {
  const [kind, name, group] = ["kind", "name", "apiGroup"].map((member) => stringAt(object, ["roleRef", member])) as [
    string,
    string,
    string,
  ];
  return [
    ...(group === rbacGroup ? [] : [unsupportedValue("roleRef.apiGroup", group, [rbacGroup])]),
    ...(kinds.includes(kind) ? [] : [unsupportedValue("roleRef.kind", kind, kinds)]),
    ...(name === ""
      ? [requiredValue("roleRef.name")]
      : pathSegmentName(name, false).map((text) => invalidValue("roleRef.name", name, text))),
  ];
}

/** The reference shows the reference with the names of its fields in Go. */
function inGo({ apiGroup = "", kind = "", name = "" }: JsonObject): JsonObject {
  return { APIGroup: apiGroup, Kind: kind, Name: name };
}

function bindingRules(kinds: readonly string[]): KindRules {
  const isNamespaced = kinds.length > 1;
  return {
    validate: (object) => [
      ...roleRefErrors(object, kinds),
      ...ofItems(object, "subjects", subjectErrors(isNamespaced)),
    ],
    // A binding that could be changed to another role would grant its subjects permissions that were not granted.
    validateChange: (object, old) =>
      jsonEqual(objectAt(object, ["roleRef"]), objectAt(old, ["roleRef"]))
        ? []
        : [invalidValue("roleRef", inGo(objectAt(object, ["roleRef"])), "cannot change roleRef")],
  };
}

export const roleBindingRules: KindRules = bindingRules(["Role", "ClusterRole"]);
export const clusterRoleBindingRules: KindRules = bindingRules(["ClusterRole"]);
