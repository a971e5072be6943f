// SPDX-License-Identifier: Apache-2.0
import type { Check } from "@purlin/kube-apiserver/kinds";
import { type FieldError, invalidValue, requiredValue, tooLong } from "@purlin/kube-objects/errors";
import { utf8Length } from "@purlin/kube-objects/json";
import { dns1123SubdomainProblems } from "@purlin/kube-objects/metadata";
import { memberAt } from "@purlin/kube-objects/object";

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
export const deviceConstraint: Check = (constraint, path) => {
  const [match, distinct] = [memberAt(constraint, ["matchAttribute"]), memberAt(constraint, ["distinctAttribute"])];
  if (typeof match === "string") return fullNameErrors(match, `${path}.matchAttribute`);
  if (typeof distinct === "string") return fullNameErrors(distinct, `${path}.distinctAttribute`);
  const text = 'exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set';
  return [requiredValue(path, text)];
};
