// SPDX-License-Identifier: Apache-2.0
import {
  all,
  type Check,
  defineKinds,
  eachItem,
  isPort,
  type KindDefinition,
  type KindRules,
  listAt,
  maybeNamed,
  named,
  portNameProblems,
  portRange,
  selectorProblems,
  statusSubresource,
  within,
} from "@purlin/kube-apiserver/kinds";
import {
  type FieldError,
  firstErrors,
  forbiddenValue,
  invalidPrinted,
  invalidValue,
  requiredValue,
  tooLong,
  unsupportedValue,
} from "@purlin/kube-objects/errors";
import { type JsonObject, utf8Length } from "@purlin/kube-objects/json";
import { dns1123SubdomainProblems, type NameRule } from "@purlin/kube-objects/metadata";
import { memberAt, objectAt, optionalObjectAt, stringAt, textsAt } from "@purlin/kube-objects/object";
import {
  canonicalAddressProblem,
  firstWarnings,
  isStrictlyInside,
  type Placed,
  rangeErrors,
  rangeOf,
  rangeWarnings,
} from "../checks/addresses.ts";
import {
  goStruct,
  hasObject,
  immutableText,
  inMember,
  optionallyOneOf,
  pathSegmentProblems,
  selectorAt,
} from "../checks/rule-checks.ts";
import { classParameters, ingressRules } from "./ingress-rules.ts";

const port: Check = all(optionallyOneOf("protocol", ["TCP", "UDP", "SCTP"]), (one, path) => {
  const [number, end] = [memberAt(one, ["port"]), memberAt(one, ["endPort"])];
  const invalidEnd = (value: number, why: string): FieldError[] => [invalidValue(`${path}.endPort`, value, why)];
  const hasEnd = typeof end === "number";
  if (typeof number === "number") {
    return [
      ...(isPort(number) ? [] : [invalidValue(`${path}.port`, number, portRange)]),
      ...(hasEnd && end < number ? invalidEnd(number, "must be greater than or equal to `port`") : []),
      ...(hasEnd && !isPort(end) ? invalidEnd(end, portRange) : []),
    ];
  }
  if (typeof number !== "string") {
    return hasEnd ? invalidEnd(end, "may not be specified when `port` is not specified") : [];
  }
  return [
    ...(hasEnd ? invalidEnd(end, "may not be specified when `port` is non-numeric") : []),
    ...portNameProblems(number).map((problem) => invalidValue(`${path}.port`, number, problem)),
  ];
});

const ipBlock: Check = (block, path) => {
  const text = stringAt(block, ["cidr"]);
  if (text === "") return [requiredValue(`${path}.cidr`)];
  const range = rangeOf(text);
  const own = rangeErrors(text, `${path}.cidr`);
  if (range === undefined) return own;
  const excepted = firstErrors(textsAt(block, ["except"]), (except, index) => {
    const at = `${path}.except[${index}]`;
    const inner = rangeOf(except);
    const isInside = inner === undefined || isStrictlyInside(inner, range);
    return [
      ...rangeErrors(except, at),
      ...(isInside ? [] : [invalidValue(at, except, "must be a strict subset of `cidr`")]),
    ];
  });
  return [...own, ...excepted];
};

const peer: Check = (one, path) => {
  const [hasBlock, selectors] = [
    hasObject(one, "ipBlock"),
    ["podSelector", "namespaceSelector"].filter((name) => hasObject(one, name)),
  ];
  return [
    ...selectors.flatMap((name) => selectorAt(name)(one, path)),
    ...(hasBlock ? ipBlock(objectAt(one, ["ipBlock"]), `${path}.ipBlock`) : []),
    ...(!hasBlock && selectors.length === 0 ? [requiredValue(path, "must specify a peer")] : []),
    ...(hasBlock && selectors.length > 0
      ? [forbiddenValue(path, "may not specify both ipBlock and another peer")]
      : []),
  ];
};

const policyTypes = ["Ingress", "Egress"];

function typeErrors(spec: JsonObject, path: string): FieldError[] {
  const types = textsAt(spec, ["policyTypes"]);
  const at = `${path}.policyTypes`;
  if (types.length > 2) return [invalidValue(at, types, "may not specify more than two policyTypes")];
  return firstErrors(types, (type, index) =>
    policyTypes.includes(type) ? [] : [unsupportedValue(`${at}[${index}]`, type, policyTypes)],
  );
}

/** The rules of NetworkPolicies. */
/** The ranges of addresses that a policy names. */
function* policyRanges(policy: JsonObject): Generator<Placed> {
  for (const [direction, list] of Object.entries({ ingress: "from", egress: "to" })) {
    for (const [index, rule] of listAt(policy, "spec", direction).entries()) {
      for (const [place, peer] of listAt(rule, list).entries()) {
        const at = `spec.${direction}[${index}].${list}[${place}].ipBlock`;
        yield [stringAt(peer, ["ipBlock", "cidr"]), `${at}.cidr`];
        for (const [number, range] of textsAt(peer, ["ipBlock", "except"]).entries()) {
          yield [range, `${at}.except[${number}]`];
        }
      }
    }
  }
}

const networkPolicyRules: KindRules = {
  warnings: (policy) => firstWarnings(policyRanges(policy), rangeWarnings),
  validate: inMember(
    "spec",
    all(
      (spec, path) => selectorProblems(objectAt(spec, ["podSelector"]), `${path}.podSelector`),
      eachItem("ingress", all(eachItem("ports", port), eachItem("from", peer))),
      eachItem("egress", all(eachItem("ports", port), eachItem("to", peer))),
      typeErrors,
    ),
  ),
};

// The rules of the small kinds of networking.k8s.io.

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
const ingressClassRules: KindRules = {
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
const addressRules: KindRules = {
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
  if (ranges.length > 2) return [invalidValue(rangesPath, { CIDRs: ranges }, "may only hold up to 2 values")];
  const [first, second] = ranges.map(familyOf);
  const why = "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64";
  return [
    ...firstErrors(ranges, (range, index) => rangeErrors(range, `${rangesPath}[${index}]`, { canonical: true })),
    ...(ranges.length === 2 && first !== undefined && first === second ? [invalidValue(rangesPath, ranges, why)] : []),
  ];
}

function rangesChange(object: JsonObject, old: JsonObject): FieldError[] {
  const [now, before] = [rangesOf(object), rangesOf(old)];
  const changed = (index: number): FieldError[] =>
    now[index] === before[index]
      ? []
      : [invalidValue(`${rangesPath}[${index}]`, now[index] ?? "", "field is immutable")];
  if (now.length === before.length) return firstErrors(before, (_, index) => changed(index));
  if (before.length === 1 && now.length === 2) return [...changed(0), ...rangesErrors(object)];
  return [invalidValue(rangesPath, objectAt(object, ["spec"])["cidrs"] ?? null, "field is immutable")];
}

/** The rules of ServiceCIDRs. */
const serviceRangeRules: KindRules = {
  validateNew: rangesErrors,
  validateChange: (object, old, endpoint) => (endpoint === "status" ? [] : rangesChange(object, old)),
};

const addressName: NameRule = (name) => {
  const problem = canonicalAddressProblem(name);
  return problem === undefined ? [] : [problem];
};

/** The kinds of networking.k8s.io. */
export const networkingKinds: readonly KindDefinition[] = defineKinds(
  { group: "networking.k8s.io", version: "v1", priority: 17_200 },
  [
    {
      resource: "ingressclasses",
      kind: "IngressClass",
      cluster: true,
      write: { generation: "spec" },
      rules: ingressClassRules,
    },
    {
      resource: "ingresses",
      kind: "Ingress",
      short: ["ing"],
      subresources: [statusSubresource],
      write: { generation: "spec" },
      rules: ingressRules,
    },
    {
      resource: "ipaddresses",
      kind: "IPAddress",
      short: ["ip"],
      cluster: true,
      write: { name: addressName },
      rules: addressRules,
    },
    {
      resource: "networkpolicies",
      kind: "NetworkPolicy",
      short: ["netpol"],
      write: { generation: "spec" },
      rules: networkPolicyRules,
    },
    {
      resource: "servicecidrs",
      kind: "ServiceCIDR",
      cluster: true,
      subresources: [statusSubresource],
      rules: serviceRangeRules,
    },
  ],
);
