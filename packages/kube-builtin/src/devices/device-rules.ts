// SPDX-License-Identifier: Apache-2.0
// The rules of DeviceClasses, ResourceClaims and their templates.
import type { Work } from "@purlin/base";
import {
  all,
  type Check,
  eachItem,
  type KindRules,
  listAt,
  metaOf,
  named,
  type Store,
  withEmptyLists,
} from "@purlin/kube-apiserver/kinds";
import {
  type FieldError,
  forbiddenValue,
  invalidPrinted,
  invalidValue,
  requiredValue,
  unsupportedValue,
} from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { dns1123SubdomainProblems } from "@purlin/kube-objects/metadata";
import { memberAt, numberAt, objectAt, stringAt, withMember } from "@purlin/kube-objects/object";
import { goForm } from "../checks/go-form.ts";
import { isExtended } from "../checks/resource-names.ts";
import { hasObject, inMember } from "../checks/rule-checks.ts";
import { templateLists, templateMetadata } from "../storage/volume-rules.ts";
import { claimStatusErrors, withoutDeallocated } from "./claim-status.ts";
import {
  configuration,
  fullNameErrors,
  labelAt,
  limited,
  maxItems,
  requestNames,
  selectors,
  toleration,
  unique,
} from "./device-parts.ts";

/** A constraint names the attribute that devices have in common. */
const deviceConstraint: Check = (constraint, path) => {
  const [match, distinct] = [memberAt(constraint, ["matchAttribute"]), memberAt(constraint, ["distinctAttribute"])];
  if (typeof match === "string") return fullNameErrors(match, `${path}.matchAttribute`);
  if (typeof distinct === "string") return fullNameErrors(distinct, `${path}.distinctAttribute`);
  const text = 'exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set';
  return [requiredValue(path, text)];
};

const maxAlternatives = 8;
const modes = ["All", "ExactCount"];

const count: Check = (request, path) => {
  const [mode, number] = [stringAt(request, ["allocationMode"]), numberAt(request, ["count"])];
  const at = `${path}.count`;
  if (mode === "All") {
    return number === 0 ? [] : [invalidValue(at, number, "must not be specified when allocationMode is 'All'")];
  }
  if (mode === "ExactCount") return number > 0 ? [] : [invalidValue(at, number, "must be greater than zero")];
  return [unsupportedValue(`${path}.allocationMode`, mode, modes)];
};

const exactly: Check = all(
  named("deviceClassName", dns1123SubdomainProblems),
  selectors,
  count,
  eachItem("tolerations", toleration),
);

const oneForm = "exactly one of `exactly` or `firstAvailable` is required";

const request: Check = all(labelAt("name"), (one, path) => {
  const [isExact, hasList] = [hasObject(one, "exactly"), listAt(one, "firstAvailable").length > 0];
  if (isExact && hasList) return [invalidValue(path, null, `${oneForm}, but multiple fields are set`)];
  if (isExact) return exactly(objectAt(one, ["exactly"]), `${path}.exactly`);
  if (!hasList) return [requiredValue(path, oneForm)];
  return limited(
    "firstAvailable",
    maxAlternatives,
    all(eachItem("firstAvailable", all(labelAt("name"), exactly)), unique("firstAvailable", "name")),
  )(one, path);
});

const devices: Check = (claim, path) =>
  all(
    limited("requests", maxItems, all(eachItem("requests", request), unique("requests", "name"))),
    limited("constraints", maxItems, eachItem("constraints", all(requestNames(claim), deviceConstraint))),
    limited("config", maxItems, eachItem("config", all(requestNames(claim), configuration))),
  )(claim, path);

const claimSpec: Check = (spec, path) => devices(objectAt(spec, ["devices"]), `${path}.devices`);

const adminLabel = "resource.kubernetes.io/admin-access";

/** Devices that are in use can only be claimed where the namespace has a label for it. */
function adminErrors(store: Store<JsonObject>, object: JsonObject, uses: readonly AdminUse[]): FieldError[] {
  const use = uses.find(({ isAdmin }) => isAdmin);
  if (use === undefined) return [];
  const namespace = store.get(`//namespaces/${metaOf(object).namespace ?? ""}`)?.value ?? {};
  const why = `admin access to devices requires the \`${adminLabel}: true\` label on the containing namespace`;
  return metaOf(namespace).labels?.[adminLabel] === "true" ? [] : [forbiddenValue(use.path, why)];
}

interface AdminUse {
  readonly isAdmin: boolean;
  readonly path: string;
}

/** The reference names the same path for claims and templates. */
function requestedUses(object: JsonObject, ...path: readonly string[]): AdminUse[] {
  return listAt(object, ...path, "devices", "requests").map((one, index) => ({
    isAdmin: memberAt(one, ["exactly", "adminAccess"]) === true,
    path: `spec.devices.requests[${index}].adminAccess`,
  }));
}

function allocatedUses(object: JsonObject): AdminUse[] {
  return listAt(object, "status", "allocation", "devices", "results").map((one, index) => ({
    isAdmin: memberAt(one, ["adminAccess"]) === true,
    path: `status.allocation.devices.results[${index}].adminAccess`,
  }));
}

/** The spec never changes. To print each is a part: a spec may be as long as a request. */
function* comparingSpecs(type: string, object: JsonObject, old: JsonObject): Work<FieldError[]> {
  const now = goForm(type, objectAt(object, ["spec"]));
  yield;
  const before = goForm(type, objectAt(old, ["spec"]));
  yield;
  return now === before ? [] : [invalidPrinted("spec", now, "field is immutable")];
}

/** The rules of ResourceClaims. */
export function claimRules(store: Store<JsonObject>): KindRules {
  const { prepareUpdate, ...rules } = withEmptyLists(["spec.devices.requests"], {
    validateNew: (object) => [
      ...adminErrors(store, object, requestedUses(object, "spec")),
      ...inMember("spec", claimSpec)(object),
    ],
    validateChange: (object, old, endpoint) => {
      if (endpoint !== "status") return [];
      const wasAdmin = allocatedUses(old).some(({ isAdmin }) => isAdmin);
      return [...adminErrors(store, object, wasAdmin ? [] : allocatedUses(object)), ...claimStatusErrors(object, old)];
    },
    *validating(object, old, endpoint) {
      return old === undefined || endpoint === "status" ? [] : yield* comparingSpecs("ResourceClaimSpec", object, old);
    },
  });
  return {
    ...rules,
    prepareUpdate: (object, old, endpoint) =>
      endpoint === "status" ? withoutDeallocated(object, old) : (prepareUpdate?.(object, old, endpoint) ?? object),
  };
}

const templateSpec: Check = all(templateMetadata, (spec, path) => claimSpec(objectAt(spec, ["spec"]), `${path}.spec`));

/** Lists of a template's metadata are neither compared nor printed when they are empty. */
function withoutLists(template: JsonObject): JsonObject {
  const empty = templateLists.filter((name) => listAt(template, "spec", "metadata", name).length === 0);
  return empty.reduce((made, name) => withMember(made, ["spec", "metadata", name], undefined), template);
}

/** The rules of ResourceClaimTemplates. */
export function claimTemplateRules(store: Store<JsonObject>): KindRules {
  return withEmptyLists(["spec.spec.devices.requests"], {
    keepsEmpty: templateLists.map((name) => ["spec", "metadata", name]),
    validateNew: (object) => [
      ...adminErrors(store, object, requestedUses(object, "spec", "spec")),
      ...inMember("spec", templateSpec)(object),
    ],
    validateChange: inMember("spec", templateSpec),
    *validating(object, old) {
      return old === undefined ? [] : yield* comparingSpecs("ResourceClaimTemplateSpec", withoutLists(object), old);
    },
  });
}

const extendedName: Check = (spec, path) => {
  const name = memberAt(spec, ["extendedResourceName"]);
  return typeof name === "string" && !isExtended(name)
    ? [invalidValue(`${path}.extendedResourceName`, name, "must be a valid extended resource name")]
    : [];
};

/** The rules of DeviceClasses. */
export const deviceClassRules: KindRules = {
  validate: inMember(
    "spec",
    all(selectors, limited("config", maxItems, eachItem("config", configuration)), extendedName),
  ),
};
