// SPDX-License-Identifier: Apache-2.0
import {
  all,
  type Check,
  eachItem,
  isPort,
  type KindRules,
  listAt,
  maybeNamed,
  metaOf,
  named,
  oneOf,
  portRange,
  within,
} from "@purlin/kube-apiserver/kinds";
import {
  duplicateValue,
  type FieldError,
  firstErrors,
  invalidValue,
  requiredValue,
  tooMany,
  unsupportedValue,
} from "@purlin/kube-objects/errors";
import { type JsonObject, jsonEqual } from "@purlin/kube-objects/json";
import {
  dns1123LabelProblems,
  dns1123SubdomainProblems,
  labelKeyProblems,
  labelValueProblems,
} from "@purlin/kube-objects/metadata";
import { memberAt, stringAt } from "@purlin/kube-objects/object";
import {
  addressProblem,
  addressText,
  canonicalAddressProblem,
  firstWarnings,
  isOfFamily,
  localKindOf,
  type Placed,
} from "../checks/addresses.ts";
import { optionallyOneOf } from "../checks/rule-checks.ts";
import { each } from "../defaults/pod-defaults.ts";

const protocols = ["SCTP", "TCP", "UDP"];

const specialTexts = {
  unspecified: "may not be unspecified",
  loopback: "may not be in the loopback range (127.0.0.0/8, ::1/128)",
  "link-local": "may not be in the link-local range (169.254.0.0/16, fe80::/10)",
  "link-local multicast": "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)",
} as const;

/** The errors of an address that is local to each machine, and so cannot be an endpoint. */
export function specialErrors(address: string, path: string): FieldError[] {
  const kind = localKindOf(address);
  if (kind === undefined) return [];
  const shown = kind === "unspecified" ? ` (${address})` : "";
  return [invalidValue(path, address, `${specialTexts[kind]}${shown}`)];
}

/** A name that is optional, but not empty when it is given. */
function givenName(name: string, rule: (text: string) => readonly string[]): Check {
  return (object, path) => {
    const text = memberAt(object, [name]);
    if (typeof text !== "string") return [];
    return rule(text).map((problem) => invalidValue(`${path}.${name}`, text, problem));
  };
}

const address: Check = (object, path) => {
  const ip = stringAt(object, ["ip"]);
  const at = `${path}.ip`;
  const problem = addressProblem(ip);
  return [
    ...(problem === undefined ? [] : [invalidValue(at, ip, problem)]),
    ...maybeNamed("hostname", dns1123LabelProblems)(object, path),
    ...givenName("nodeName", dns1123SubdomainProblems)(object, path),
    // The reference asks once more before it looks at what kind of address it is.
    ...(problem === addressText ? [invalidValue(at, ip, "must be a valid IP address")] : specialErrors(ip, at)),
  ];
};

function port(isNameNeeded: boolean): Check {
  return (object, path) => {
    const number = memberAt(object, ["port"]);
    const name = isNameNeeded ? named("name", dns1123LabelProblems) : maybeNamed("name", dns1123LabelProblems);
    return [
      ...name(object, path),
      ...(isPort(number) ? [] : [invalidValue(`${path}.port`, number ?? 0, portRange)]),
      ...oneOf("protocol", protocols)(object, path),
      ...givenName("appProtocol", labelKeyProblems)(object, path),
    ];
  };
}

const subset: Check = (object, path) => {
  const isEmpty = listAt(object, "addresses").length + listAt(object, "notReadyAddresses").length === 0;
  return [
    ...(isEmpty ? [requiredValue(path, "must specify `addresses` or `notReadyAddresses`")] : []),
    ...all(
      eachItem("addresses", address),
      eachItem("notReadyAddresses", address),
      eachItem("ports", port(listAt(object, "ports").length > 1)),
    )(object, path),
  ];
};

/** Addresses that have a shorter form. Those of the controller are written as they should be. */
function endpointsWarnings(object: JsonObject): string[] {
  if (metaOf(object).labels?.["endpoints.kubernetes.io/managed-by"] === "endpoint-controller") return [];
  return firstWarnings(endpointAddresses(object));
}

function* endpointAddresses(object: JsonObject): Generator<Placed> {
  for (const [index, subset] of listAt(object, "subsets").entries()) {
    for (const list of ["addresses", "notReadyAddresses"]) {
      for (const [place, one] of listAt(subset, list).entries()) {
        yield [stringAt(one, ["ip"]), `subsets[${index}].${list}[${place}].ip`];
      }
    }
  }
}

export const endpointsRules: KindRules = {
  warnings: endpointsWarnings,
  validate: (object) => firstErrors(listAt(object, "subsets"), (one, index) => subset(one, `subsets[${index}]`)),
};

const addressTypes = ["FQDN", "IPv4", "IPv6"];
const maxAddresses = 100;
/** Of a list that is far too long, the first addresses are checked. */
const mostChecked = 1000;

const fewSegments = "should be a domain with at least two segments separated by dots";

function nameErrors(text: string, path: string): FieldError[] {
  if (text === "") return [requiredValue(path)];
  const name = text.replace(/\.$/, "");
  const problems = dns1123SubdomainProblems(name);
  if (problems.length > 0) return [invalidValue(path, name, problems.join(","))];
  const labels = name.split(".");
  if (labels.length < 2) return [invalidValue(path, name, fewSegments)];
  const long = labels.find((label) => dns1123LabelProblems(label).length > 0);
  return long === undefined ? [] : [invalidValue(path, long, dns1123LabelProblems(long).join(","))];
}

function sliceAddressErrors(type: string, text: string, path: string): FieldError[] {
  if (!addressTypes.includes(type)) return [];
  if (type === "FQDN") return nameErrors(text, path);
  const problem = type === "IPv6" ? canonicalAddressProblem(text) : addressProblem(text);
  if (problem !== undefined) return [invalidValue(path, text, problem)];
  const family = type === "IPv4" ? 4 : 6;
  // The reference names the list here.
  const list = path.replace(/\[\d+\]$/, "");
  const wrong = isOfFamily(text, family) ? [] : [invalidValue(list, text, `must be an ${type} address`)];
  return [...wrong, ...specialErrors(text, path)];
}

function endpointErrors(type: string): Check {
  return (endpoint, path) => {
    const addresses = memberAt(endpoint, ["addresses"]);
    const texts = Array.isArray(addresses) ? addresses.map(String) : [];
    const at = `${path}.addresses`;
    return [
      ...(texts.length === 0 ? [requiredValue(at, "must contain at least 1 address")] : []),
      ...(texts.length > maxAddresses ? [tooMany(at, texts.length, maxAddresses)] : []),
      ...firstErrors(texts.slice(0, mostChecked), (text, index) => sliceAddressErrors(type, text, `${at}[${index}]`)),
      ...givenName("nodeName", dns1123SubdomainProblems)(endpoint, path),
      ...givenName("hostname", dns1123LabelProblems)(endpoint, path),
      ...within("hints", hintErrors)(endpoint, path),
    ];
  };
}

const maxHints = 8;

/** Where the clients of an endpoint are. With too many names of zones those of nodes are not looked at. */
const hintErrors: Check = (hints, path) => {
  const zones = namesErrors(hints, `${path}.forZones`, labelValueProblems);
  const hasMany = listAt(hints, "forZones").length > maxHints;
  return hasMany ? zones : [...zones, ...namesErrors(hints, `${path}.forNodes`, dns1123SubdomainProblems)];
};

function namesErrors(hints: JsonObject, path: string, rule: (text: string) => readonly string[]): FieldError[] {
  const list = listAt(hints, path.slice(path.lastIndexOf(".") + 1));
  if (list.length > maxHints) return [tooMany(path, list.length, maxHints)];
  const seen = new Set<string>();
  return firstErrors(list, (one, index) => {
    const [name, at] = [stringAt(one, ["name"]), `${path}[${index}].name`];
    const isTaken = seen.has(name);
    seen.add(name);
    return [
      ...(isTaken ? [duplicateValue(at, name)] : []),
      ...rule(name).map((problem) => invalidValue(at, name, problem)),
    ];
  });
}

const maxPorts = 20_000;
const maxEndpoints = 1000;

function slicePortErrors(slice: JsonObject): FieldError[] {
  const names = new Set<string>();
  const ports = listAt(slice, "ports");
  if (ports.length > maxPorts) return [tooMany("ports", ports.length, maxPorts)];
  return firstErrors(ports, (one, index) => {
    const [path, name] = [`ports[${index}]`, stringAt(one, ["name"])];
    const isTaken = names.has(name);
    names.add(name);
    return [
      ...maybeNamed("name", dns1123LabelProblems)(one, path),
      ...(isTaken ? [duplicateValue(`${path}.name`, name)] : []),
      ...optionallyOneOf("protocol", protocols)(one, path),
      ...givenName("appProtocol", labelKeyProblems)(one, path),
    ];
  });
}

function typeErrors(type: string): FieldError[] {
  if (type === "") return [requiredValue("addressType")];
  return addressTypes.includes(type) ? [] : [unsupportedValue("addressType", type, addressTypes)];
}

function sliceEndpointErrors(slice: JsonObject): FieldError[] {
  const check = endpointErrors(stringAt(slice, ["addressType"]));
  const endpoints = listAt(slice, "endpoints");
  if (endpoints.length > maxEndpoints) return [tooMany("endpoints", endpoints.length, maxEndpoints)];
  return firstErrors(endpoints, (one, index) => check(one, `endpoints[${index}]`));
}

export const endpointSliceRules: KindRules = {
  warnings: (slice) =>
    stringAt(slice, ["addressType"]) === "FQDN" ? ["spec.addressType: FQDN endpoints are deprecated"] : [],
  // An older form of topology, which only other versions of the kind have.
  withoutDisabled: each("endpoints", ({ deprecatedTopology: _topology, ...endpoint }) => endpoint),
  validate: (slice) => [...typeErrors(stringAt(slice, ["addressType"])), ...slicePortErrors(slice)],
  validateNew: sliceEndpointErrors,
  // Endpoints that do not change were valid once.
  validateChange: (slice, old) => [
    ...(jsonEqual(slice["endpoints"] ?? null, old["endpoints"] ?? null) ? [] : sliceEndpointErrors(slice)),
    ...(stringAt(slice, ["addressType"]) === stringAt(old, ["addressType"])
      ? []
      : [invalidValue("addressType", stringAt(slice, ["addressType"]), "field is immutable")]),
  ],
};
