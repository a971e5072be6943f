// SPDX-License-Identifier: Apache-2.0
// The rules of the small kinds of networking.k8s.io.
import { all, type Check, type KindRules, maybeNamed, named, within } from "@purlin/kube-apiserver/kinds";
import { type FieldError, invalidPrinted, invalidValue, requiredValue, tooLong } from "@purlin/kube-objects/errors";
import { type JsonObject, utf8Length } from "@purlin/kube-objects/json";
import { dns1123SubdomainProblems } from "@purlin/kube-objects/metadata";
import { objectAt, optionalObjectAt, stringAt, textsAt } from "@purlin/kube-objects/object";
import { rangeErrors, rangeOf } from "../checks/range-text.ts";
import { goStruct, immutableText, inMember, pathSegmentProblems } from "../checks/rule-checks.ts";
import { classParameters } from "./ingress-rules.ts";

const maxController = 250;
const pathPattern = /^[A-Za-z0-9/\-._~%!$&'()*+,;=:]+$/;
const pathText = "Invalid path (regex used for validation is '[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')";

/** A path that begins with a domain, such as `example.com/controller`. */
function domainPath(text: string, path: string): FieldError[] {
  if (text === "") return [requiredValue(path)];
  const slash = text.indexOf("/");
  const [domain, rest] = [text.slice(0, slash), text.slice(slash + 1)];
  if (slash < 1 || rest === "") {
    return [invalidValue(path, text, 'must be a domain-prefixed path (such as "acme.io/foo")')];
  }
  return [
    ...dns1123SubdomainProblems(domain).map((problem) => invalidValue(path, domain, problem)),
    ...(pathPattern.test(rest) ? [] : [invalidValue(path, rest, pathText)]),
  ];
}

const controller: Check = (spec, path) => {
  const text = stringAt(spec, ["controller"]);
  const at = `${path}.controller`;
  return [...(utf8Length(text) > maxController ? [tooLong(at, maxController)] : []), ...domainPath(text, at)];
};

/** The rules of IngressClasses. */
export const ingressClassRules: KindRules = {
  validate: inMember("spec", all(controller, within("parameters", classParameters))),
  validateChange: immutableText(["spec", "controller"]),
};

const parent: Check = all(
  maybeNamed("group", dns1123SubdomainProblems),
  named("resource", pathSegmentProblems),
  named("name", pathSegmentProblems),
  maybeNamed("namespace", pathSegmentProblems),
);

/** A reference to the owner of an address as kube-apiserver prints it. */
function inGo(one: JsonObject | undefined): string {
  if (one === undefined) return "null";
  const [Group = "", Resource = "", Namespace = "", Name = ""] = ["group", "resource", "namespace", "name"].map((key) =>
    stringAt(one, [key]),
  );
  return goStruct({ Group, Resource, Namespace, Name });
}

/** The rules of IPAddresses. */
export const addressRules: KindRules = {
  validate: (object) => {
    const reference = optionalObjectAt(object, ["spec", "parentRef"]);
    return reference === undefined ? [requiredValue("spec.parentRef")] : parent(reference, "spec.parentRef");
  },
  validateChange: (object, old) => {
    const [now, before] = [object, old].map((one) => inGo(optionalObjectAt(one, ["spec", "parentRef"])));
    return now === before ? [] : [invalidPrinted("spec.parentRef", now ?? "null", "field is immutable")];
  },
};

const rangesPath = "spec.cidrs";
const rangesOf = (object: JsonObject): string[] => textsAt(object, ["spec", "cidrs"]);
const familyOf = (text: string | undefined): number | undefined => rangeOf(text ?? "")?.address.bits;

function rangesErrors(object: JsonObject): FieldError[] {
  const ranges = rangesOf(object);
  if (ranges.length === 0) return [requiredValue(rangesPath, "at least one CIDR required")];
  if (ranges.length > 2) {
    return [invalidValue(rangesPath, { CIDRs: ranges }, "may only hold up to 2 values")];
  }
  const [first, second] = ranges.map(familyOf);
  const why = "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64";
  return [
    ...ranges.flatMap((range, index) => rangeErrors(range, `${rangesPath}[${index}]`, { canonical: true })),
    ...(ranges.length === 2 && first !== undefined && first === second ? [invalidValue(rangesPath, ranges, why)] : []),
  ];
}

function rangesChange(object: JsonObject, old: JsonObject): FieldError[] {
  const [now, before] = [rangesOf(object), rangesOf(old)];
  const changed = (index: number): FieldError[] =>
    now[index] === before[index]
      ? []
      : [invalidValue(`${rangesPath}[${index}]`, now[index] ?? "", "field is immutable")];
  if (now.length === before.length) return before.flatMap((_, index) => changed(index));
  if (before.length === 1 && now.length === 2) return [...changed(0), ...rangesErrors(object)];
  return [invalidValue(rangesPath, objectAt(object, ["spec"])["cidrs"] ?? null, "field is immutable")];
}

/** The rules of ServiceCIDRs. */
export const serviceRangeRules: KindRules = {
  validateNew: rangesErrors,
  validateChange: (object, old, endpoint) => (endpoint === "status" ? [] : rangesChange(object, old)),
};
