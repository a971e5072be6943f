// SPDX-License-Identifier: Apache-2.0
// The status of a Pod, which kubelets and programs in their place write.
import { type Check, listAt } from "@purlin/kube-apiserver/kinds";
import {
  duplicateValue,
  type FieldError,
  firstErrors,
  forbiddenValue,
  internalFieldError,
  invalidPrinted,
  invalidValue,
} from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { dns1123SubdomainProblems, labelKeyProblems } from "@purlin/kube-objects/metadata";
import { memberAt, numberAt, objectAt, stringAt, withMember } from "@purlin/kube-objects/object";
import { addressErrors, isOfFamily } from "../checks/addresses.ts";
import { goStruct } from "../checks/rule-checks.ts";

const ownConditions = new Set(["PodScheduled", "Ready", "Initialized"]);
const notNegative = "must be a non-negative integer";

const condition: Check = (one, path) => {
  const [type, generation] = [stringAt(one, ["type"]), numberAt(one, ["observedGeneration"])];
  return [
    ...(generation < 0 ? [invalidValue(`${path}.observedGeneration`, generation, notNegative)] : []),
    ...(ownConditions.has(type)
      ? []
      : labelKeyProblems(type).map((problem) => invalidValue(`${path}.Type`, type, problem))),
  ];
};

/** The node on which the scheduler makes room for a Pod that has none. */
function nominationErrors(pod: JsonObject, old: JsonObject): FieldError[] {
  const [name, before] = [pod, old].map((one) => stringAt(one, ["status", "nominatedNodeName"])) as [string, string];
  const at = "status.nominatedNodeName";
  if (name === "" || name === before) return [];
  const isBound = stringAt(old, ["spec", "nodeName"]) !== "";
  return [
    ...dns1123SubdomainProblems(name).map((problem) => invalidValue(at, name, problem)),
    ...(isBound ? [forbiddenValue(at, "may not be set on pods that are already bound to a node")] : []),
  ];
}

/** Whether the kubelet starts a container again. Rules count only in a container with a policy of its own. */
function restarts(container: JsonObject, spec: JsonObject, exitCode: number): boolean {
  const own = stringAt(container, ["restartPolicy"]);
  if (own !== "" && matchesRule(container, exitCode)) return true;
  const policy = own || stringAt(spec, ["restartPolicy"]);
  return policy === "Always" || (policy === "OnFailure" && exitCode !== 0);
}

/** Whether a rule of a container, all of which restart it, applies to an exit code. */
function matchesRule(container: JsonObject, exitCode: number): boolean {
  return listAt(container, "restartPolicyRules").some((rule) => {
    const values = memberAt(rule, ["exitCodes", "values"]);
    const isNamed = Array.isArray(values) && values.includes(exitCode);
    const operator = stringAt(rule, ["exitCodes", "operator"]);
    return (operator === "In" && isNamed) || (operator === "NotIn" && !isNamed);
  });
}

/** Whether a container may restart all others, which then leave their last state. */
function mayRestartAll(spec: JsonObject): boolean {
  return ["containers", "initContainers"].some((list) =>
    listAt(spec, list).some((one) =>
      listAt(one, "restartPolicyRules").some((rule) => stringAt(rule, ["action"]) === "RestartAllContainers"),
    ),
  );
}

const statusLists = {
  containerStatuses: "containers",
  initContainerStatuses: "initContainers",
  ephemeralContainerStatuses: undefined,
} as const;

/** A container that has ended and is not started again stays so. */
function transitionErrors(pod: JsonObject, old: JsonObject): FieldError[] {
  const spec = objectAt(old, ["spec"]);
  const lists = Object.entries(statusLists).filter(
    ([, containers]) => containers === undefined || !mayRestartAll(spec),
  );
  return lists.flatMap(([list, containers]) => {
    const [statuses, specs] = [byName(listAt(pod, "status", list)), byName(listAt(spec, containers ?? ""))];
    return firstErrors(listAt(old, "status", list), (before, index) => {
      const name = stringAt(before, ["name"]);
      const ended = memberAt(before, ["state", "terminated"]);
      const now = statuses.get(name);
      if (ended === undefined || now === undefined || memberAt(now, ["state", "terminated"]) !== undefined) return [];
      const exitCode = numberAt(before, ["state", "terminated", "exitCode"]);
      const container = specs.get(name);
      if (container !== undefined && restarts(container, spec, exitCode)) return [];
      return [forbiddenValue(`status.${list}[${index}].state`, "may not be transitioned to non-terminated state")];
    });
  });
}

/** Objects by name; of several with the same, the first one. */
function byName(objects: readonly JsonObject[]): ReadonlyMap<string, JsonObject> {
  return new Map(objects.map((one) => [stringAt(one, ["name"]), one] as const).toReversed());
}

/** One address for each family. Addresses that the status had before are kept as they are. */
function addressListErrors(pod: JsonObject, old: JsonObject, name: string): FieldError[] {
  const [now, before] = [pod, old].map((one) => listAt(one, "status", name).map((item) => stringAt(item, ["ip"]))) as [
    string[],
    string[],
  ];
  const at = `status.${name}`;
  const known = new Set(before);
  const odd = now.find((ip) => !isOfFamily(ip, 4) && !isOfFamily(ip, 6));
  const isDual = now.length === 2 && now.some((ip) => isOfFamily(ip, 4)) && now.some((ip) => isOfFamily(ip, 6));
  const unread = "failed to check for dual stack with error:";
  return [
    ...firstErrors(now, (ip, index) => (known.has(ip) ? [] : addressErrors(ip, `${at}[${index}]`))),
    ...(now.length > 1 && odd !== undefined ? [internalFieldError(at, `${unread}invalid IP: ${odd}`)] : []),
    ...(now.length > 1 && !isDual
      ? [
          invalidPrinted(
            at,
            `[${now.map((ip) => goStruct({ IP: ip })).join(",")}]`,
            "may specify no more than one IP for each IP family",
          ),
        ]
      : []),
  ];
}

function hostAddressErrors(pod: JsonObject): FieldError[] {
  const [first] = listAt(pod, "status", "hostIPs");
  if (first === undefined || stringAt(first, ["ip"]) === stringAt(pod, ["status", "hostIP"])) return [];
  return [invalidValue("status.hostIPs[0].ip", stringAt(first, ["ip"]), "must be equal to `hostIP`")];
}

/** The claims that were made for the Pod. */
function claimErrors(pod: JsonObject): FieldError[] {
  const known = new Set(listAt(pod, "spec", "resourceClaims").map((one) => stringAt(one, ["name"])));
  const seen = new Set<string>();
  return firstErrors(listAt(pod, "status", "resourceClaimStatuses"), (one, index) => {
    const [name, claim] = [stringAt(one, ["name"]), memberAt(one, ["resourceClaimName"])];
    const at = `status.resourceClaimStatuses[${index}]`;
    const isTaken = seen.has(name);
    seen.add(name);
    return [
      ...(known.has(name)
        ? []
        : [invalidValue(`${at}.name`, name, "must match the name of an entry in `spec.resourceClaims`")]),
      ...(isTaken ? [duplicateValue(`${at}.name`, name)] : []),
      ...(typeof claim === "string"
        ? dns1123SubdomainProblems(claim).map((problem) => invalidValue(`${at}.resourceClaimName`, claim, problem))
        : []),
    ];
  });
}

/** The errors of a status that replaces another. */
export function podStatusErrors(pod: JsonObject, old: JsonObject): FieldError[] {
  const generation = numberAt(pod, ["status", "observedGeneration"]);
  const [quality, before] = [pod, old].map((one) => stringAt(one, ["status", "qosClass"])) as [string, string];
  return [
    ...firstErrors(listAt(pod, "status", "conditions"), (one, index) => condition(one, `status.conditions[${index}]`)),
    ...nominationErrors(pod, old),
    ...(generation < 0 ? [invalidValue("status.observedGeneration", generation, notNegative)] : []),
    ...(quality === before ? [] : [invalidValue("status.qosClass", quality, "field is immutable")]),
    ...transitionErrors(pod, old),
    ...claimErrors(pod),
    ...addressListErrors(pod, old, "podIPs"),
    ...hostAddressErrors(pod),
    ...addressListErrors(pod, old, "hostIPs"),
  ];
}

/** A kubelet that does not know the class of a Pod leaves it out of the status. */
export function withQuality(pod: JsonObject, old: JsonObject): JsonObject {
  const path = ["status", "qosClass"];
  return stringAt(pod, path) === "" ? withMember(pod, path, memberAt(old, path)) : pod;
}
