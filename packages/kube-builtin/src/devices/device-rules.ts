// SPDX-License-Identifier: Apache-2.0
// The rules of DeviceClasses, ResourceClaims and their templates.
import { all, type Check, eachItem, type KindRules, listAt, named, needed, within } from "@purlin/kube-apiserver/kinds";
import {
  duplicateValue,
  type FieldError,
  invalidValue,
  requiredValue,
  tooLong,
  tooMany,
  unsupportedValue,
} from "@purlin/kube-objects/errors";
import { isJsonObject, type JsonObject, jsonEqual, printJson, utf8Length } from "@purlin/kube-objects/json";
import {
  dns1123LabelProblems,
  dns1123SubdomainProblems,
  labelKeyProblems,
  labelValueProblems,
} from "@purlin/kube-objects/metadata";
import { memberAt, numberAt, objectAt, stringAt, textsAt } from "@purlin/kube-objects/object";
import { driverName, hasObject, inMember } from "../checks/rule-checks.ts";
import { isExtended } from "../quota/resource-names.ts";

const maxIdentifier = 32;
const maxDomain = 63;
const identifierText =
  "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric characters or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for validation is '[A-Za-z_][A-Za-z0-9_]*')";

function identifierErrors(text: string, path: string): FieldError[] {
  return [
    ...(utf8Length(text) > maxIdentifier ? [tooLong(path, maxIdentifier)] : []),
    ...(/^[A-Za-z_][A-Za-z0-9_]*$/.test(text) ? [] : [invalidValue(path, text, identifierText)]),
  ];
}

function domainErrors(text: string, path: string): FieldError[] {
  return [
    ...(utf8Length(text) > maxDomain ? [tooLong(path, maxDomain)] : []),
    ...dns1123SubdomainProblems(text.toLowerCase()).map((problem) => invalidValue(path, text, problem)),
  ];
}

/** The errors of the name of an attribute, with or without a domain. */
function qualifiedNameErrors(name: string, path: string): FieldError[] {
  const [domain = "", id = "", ...more] = name.split("/");
  if (!name.includes("/")) return identifierErrors(name, path);
  if (more.length > 0) return [];
  return [
    ...(domain === "" ? [invalidValue(path, "", "the domain must not be empty")] : domainErrors(domain, path)),
    ...(id === "" ? [invalidValue(path, "", "the name must not be empty")] : identifierErrors(id, path)),
  ];
}

function fullNameErrors(name: string, path: string): FieldError[] {
  const why = "a fully qualified name must be a domain and a name separated by a slash";
  return [...qualifiedNameErrors(name, path), ...(name.includes("/") ? [] : [invalidValue(path, name, why)])];
}

/** A constraint names the attribute that devices have in common. */
const deviceConstraint: Check = (constraint, path) => {
  const [match, distinct] = [memberAt(constraint, ["matchAttribute"]), memberAt(constraint, ["distinctAttribute"])];
  if (typeof match === "string") return fullNameErrors(match, `${path}.matchAttribute`);
  if (typeof distinct === "string") return fullNameErrors(distinct, `${path}.distinctAttribute`);
  const text = 'exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set';
  return [requiredValue(path, text)];
};

const maxItems = 32;
const maxAlternatives = 8;
const maxParameters = 10 * 1024;

/** A list with a limited number of items. */
function limited(name: string, most: number, check: Check): Check {
  return (object, path) => {
    const count = listAt(object, name).length;
    return count > most ? [tooMany(`${path}.${name}`, count, most)] : check(object, path);
  };
}

/** Items that differ in one member. The error is about the item. */
function unique(name: string, member: string): Check {
  return (object, path) => {
    const keys = listAt(object, name).map((item) => stringAt(item, [member]));
    return keys.flatMap((key, index) =>
      keys.indexOf(key) < index ? [duplicateValue(`${path}.${name}[${index}]`, key)] : [],
    );
  };
}

const opaque: Check = all(driverName("driver"), (config, path) => {
  const parameters = memberAt(config, ["parameters"]);
  const at = `${path}.parameters`;
  if (parameters === undefined || parameters === null) return [requiredValue(at)];
  if (utf8Length(printJson(parameters)) > maxParameters) return [tooLong(at, maxParameters)];
  return isJsonObject(parameters) ? [] : [invalidValue(at, "<value omitted>", "must be a valid JSON object")];
});

const configuration: Check = (config, path) =>
  hasObject(config, "opaque")
    ? opaque(objectAt(config, ["opaque"]), `${path}.opaque`)
    : [requiredValue(`${path}.opaque`)];

const selector: Check = (one, path) => (hasObject(one, "cel") ? [] : [requiredValue(`${path}.cel`)]);

const selectors: Check = limited("selectors", maxItems, eachItem("selectors", selector));

const tolerationOperators = ["Equal", "Exists"];
const effects = ["NoExecute", "NoSchedule", "None"];

const toleration: Check = (one, path) => {
  const [key, operator, value, effect] = ["key", "operator", "value", "effect"].map((name) =>
    stringAt(one, [name]),
  ) as [string, string, string, string];
  const needsKey = key === "" && operator !== "Exists";
  const why = 'operator must be Exists when `key` is empty, which means "match all values and all keys"';
  return [
    ...(key === "" ? [] : labelKeyProblems(key).map((problem) => invalidValue(`${path}.key`, key, problem))),
    ...(needsKey ? [invalidValue(`${path}.operator`, operator, why)] : []),
    ...(operator === "Exists" && value !== ""
      ? [invalidValue(`${path}.value`, value, "must be empty for operator `Exists`")]
      : []),
    ...(operator === "Equal"
      ? labelValueProblems(value).map((problem) => invalidValue(`${path}.value`, value, problem))
      : []),
    ...(tolerationOperators.includes(operator)
      ? []
      : [unsupportedValue(`${path}.operator`, operator, tolerationOperators)]),
    ...(effect === "" || effects.includes(effect) ? [] : [unsupportedValue(`${path}.effect`, effect, effects)]),
  ];
};

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

const requestName: Check = (request, path) => {
  const name = stringAt(request, ["name"]);
  return dns1123LabelProblems(name).map((problem) => invalidValue(`${path}.name`, name, problem));
};

const exactly: Check = all(
  named("deviceClassName", dns1123SubdomainProblems),
  selectors,
  count,
  eachItem("tolerations", toleration),
);

const oneForm = "exactly one of `exactly` or `firstAvailable` is required";

const request: Check = all(requestName, (one, path) => {
  const [isExact, hasList] = [hasObject(one, "exactly"), listAt(one, "firstAvailable").length > 0];
  if (isExact && hasList) return [invalidValue(path, null, `${oneForm}, but multiple fields are set`)];
  if (isExact) return exactly(objectAt(one, ["exactly"]), `${path}.exactly`);
  if (!hasList) return [requiredValue(path, oneForm)];
  return limited(
    "firstAvailable",
    maxAlternatives,
    all(eachItem("firstAvailable", all(requestName, exactly)), unique("firstAvailable", "name")),
  )(one, path);
});

const unknownRequest =
  "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'";

function isRequest(claim: JsonObject, name: string): boolean {
  const [first, second] = name.split("/");
  const found = listAt(claim, "requests").filter((one) => stringAt(one, ["name"]) === first);
  if (found.length === 0 || second === undefined) return found.length > 0;
  return found.some((one) => listAt(one, "firstAvailable").some((sub) => stringAt(sub, ["name"]) === second));
}

/** Names of requests of the claim. */
function requestNames(claim: JsonObject): Check {
  return (object, path) => {
    const given = textsAt(object, ["requests"]);
    if (given.length > maxItems) return [tooMany(`${path}.requests`, given.length, maxItems)];
    return given.flatMap((name, index) => {
      const at = `${path}.requests[${index}]`;
      const parts = name.split("/");
      const isKnown = parts.length <= 2 && isRequest(claim, name);
      return [
        ...(parts.length > 2
          ? []
          : parts.flatMap((part) => dns1123LabelProblems(part).map((problem) => invalidValue(at, part, problem)))),
        ...(isKnown ? [] : [invalidValue(at, name, unknownRequest)]),
        ...(given.indexOf(name) < index ? [duplicateValue(at, name)] : []),
      ];
    });
  };
}

const devices: Check = (claim, path) =>
  all(
    limited("requests", maxItems, all(eachItem("requests", request), unique("requests", "name"))),
    limited("constraints", maxItems, eachItem("constraints", all(requestNames(claim), deviceConstraint))),
    limited("config", maxItems, eachItem("config", all(requestNames(claim), configuration))),
  )(claim, path);

const claimSpec: Check = (spec, path) => devices(objectAt(spec, ["devices"]), `${path}.devices`);

const reservation: Check = (status, path) => {
  const isForbidden = listAt(status, "reservedFor").length > 0 && !hasObject(status, "allocation");
  const body = "Forbidden: may not be specified when `allocated` is not set";
  return [
    ...eachItem("reservedFor", all(needed("resource"), needed("name"), needed("uid")))(status, path),
    ...unique("reservedFor", "uid")(status, path),
    ...(isForbidden ? [{ type: "FieldValueForbidden" as const, field: `${path}.reservedFor`, body }] : []),
  ];
};

/** The spec of a claim never changes. */
function sameSpec(object: JsonObject, old: JsonObject): FieldError[] {
  const [now, before] = [objectAt(object, ["spec"]), objectAt(old, ["spec"])];
  return jsonEqual(now, before) ? [] : [invalidValue("spec", now, "field is immutable")];
}

/** The rules of ResourceClaims. */
export const claimRules: KindRules = {
  validateNew: inMember("spec", claimSpec),
  validateChange: (object, old, endpoint) =>
    endpoint === "status" ? reservation(objectAt(object, ["status"]), "status") : sameSpec(object, old),
};

/** The rules of ResourceClaimTemplates. */
export const claimTemplateRules: KindRules = {
  validateNew: inMember("spec", within("spec", claimSpec)),
  validateChange: sameSpec,
};

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
