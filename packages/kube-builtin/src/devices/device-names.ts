// SPDX-License-Identifier: Apache-2.0
// Names of devices, pools, attributes and requests, and lists of them.
import { type Check, listAt } from "@purlin/kube-apiserver/kinds";
import {
  duplicateValue,
  type FieldError,
  invalidValue,
  requiredValue,
  tooLong,
  tooMany,
} from "@purlin/kube-objects/errors";
import { type JsonObject, utf8Length } from "@purlin/kube-objects/json";
import { dns1123LabelProblems, dns1123SubdomainProblems } from "@purlin/kube-objects/metadata";
import { stringAt, textsAt } from "@purlin/kube-objects/object";

/** How many selectors, requests, constraints and configurations there can be. */
export const maxItems = 32;

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

/** The errors of the name of an attribute or a capacity, with or without a domain. */
export function qualifiedNameErrors(name: string, path: string): FieldError[] {
  const [domain = "", id = "", ...more] = name.split("/");
  if (!name.includes("/")) return identifierErrors(name, path);
  if (more.length > 0) return [];
  return [
    ...(domain === "" ? [invalidValue(path, "", "the domain must not be empty")] : domainErrors(domain, path)),
    ...(id === "" ? [invalidValue(path, "", "the name must not be empty")] : identifierErrors(id, path)),
  ];
}

/** The same for a name that needs a domain. */
export function fullNameErrors(name: string, path: string): FieldError[] {
  const why = "a fully qualified name must be a domain and a name separated by a slash";
  return [...qualifiedNameErrors(name, path), ...(name.includes("/") ? [] : [invalidValue(path, name, why)])];
}

/** A member that is a DNS label. */
export function labelAt(name: string): Check {
  return (object, path) => {
    const text = stringAt(object, [name]);
    return dns1123LabelProblems(text).map((problem) => invalidValue(`${path}.${name}`, text, problem));
  };
}

const maxPool = 253;

/** The name of a pool: one or more DNS names. */
export function poolName(name: string): Check {
  return (object, path) => {
    const [text, at] = [stringAt(object, [name]), `${path}.${name}`];
    if (text === "") return [requiredValue(at)];
    return [
      ...(utf8Length(text) > maxPool ? [tooLong(at, maxPool)] : []),
      ...text
        .split("/")
        .flatMap((part) => dns1123SubdomainProblems(part).map((problem) => invalidValue(at, part, problem))),
    ];
  };
}

/** A list with a limited number of items. */
export function limited(name: string, most: number, check: Check): Check {
  return (object, path) => {
    const count = listAt(object, name).length;
    return count > most ? [tooMany(`${path}.${name}`, count, most)] : check(object, path);
  };
}

/** Items that differ in one member. The error is about the item. */
export function unique(name: string, member: string): Check {
  return (object, path) =>
    repeated(
      listAt(object, name).map((item) => stringAt(item, [member])),
      `${path}.${name}`,
    );
}

/** The errors of texts that are repeated in a list. */
export function repeated(texts: readonly string[], path: string): FieldError[] {
  const seen = new Set<string>();
  return texts.flatMap((text, index) => {
    const isTaken = seen.has(text);
    seen.add(text);
    return isTaken ? [duplicateValue(`${path}[${index}]`, text)] : [];
  });
}

const unknownRequest =
  "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'";

function isRequest(claim: JsonObject, name: string): boolean {
  const [first, second] = name.split("/");
  const found = listAt(claim, "requests").findLast((one) => stringAt(one, ["name"]) === first);
  if (found === undefined || second === undefined) return found !== undefined;
  return listAt(found, "firstAvailable").some((sub) => stringAt(sub, ["name"]) === second);
}

/** The errors of the name of a request, or of one of its alternatives. `claim` has the requests. */
export function requestErrors(claim: JsonObject, name: string, path: string): FieldError[] {
  const parts = name.split("/");
  if (parts.length > 2) return [invalidValue(path, name, unknownRequest)];
  return [
    ...parts.flatMap((part) => dns1123LabelProblems(part).map((problem) => invalidValue(path, part, problem))),
    ...(isRequest(claim, name) ? [] : [invalidValue(path, name, unknownRequest)]),
  ];
}

/** Names of requests of the claim. */
export function requestNames(claim: JsonObject): Check {
  return (object, path) => {
    const [given, at] = [textsAt(object, ["requests"]), `${path}.requests`];
    if (given.length > maxItems) return [tooMany(at, given.length, maxItems)];
    return [...given.flatMap((name, index) => requestErrors(claim, name, `${at}[${index}]`)), ...repeated(given, at)];
  };
}
