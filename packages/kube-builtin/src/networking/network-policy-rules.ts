// SPDX-License-Identifier: Apache-2.0
import {
  all,
  type Check,
  eachItem,
  isPort,
  type KindRules,
  portNameProblems,
  portRange,
  selectorProblems,
} from "@purlin/kube-apiserver/kinds";
import {
  type FieldError,
  forbiddenValue,
  invalidValue,
  requiredValue,
  unsupportedValue,
} from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { memberAt, objectAt, stringAt, textsAt } from "@purlin/kube-objects/object";
import { isStrictlyInside, rangeErrors, rangeOf } from "../checks/range-text.ts";
import { hasObject, inMember, optionallyOneOf, selectorAt } from "../checks/rule-checks.ts";

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
  const excepted = textsAt(block, ["except"]).flatMap((except, index) => {
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
  return types.flatMap((type, index) =>
    policyTypes.includes(type) ? [] : [unsupportedValue(`${at}[${index}]`, type, policyTypes)],
  );
}

/** The rules of NetworkPolicies. */
export const networkPolicyRules: KindRules = {
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
