// SPDX-License-Identifier: Apache-2.0
// The subresources of Pods that change one part of the spec: `ephemeralcontainers` and `resize`.
import { listAt, metaOf, withMeta } from "@purlin/kube-apiserver/kinds";
import { type FieldError, firstErrors, forbiddenValue, invalidValue } from "@purlin/kube-objects/errors";
import {
  goQuote,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  jsonEqual,
  printJson,
} from "@purlin/kube-objects/json";
import { memberAt, objectAt, stringAt, withMember } from "@purlin/kube-objects/object";
import { compareQuantities } from "@purlin/kube-objects/typed";

/** The old Pod with another spec, and with the owners of fields that the new one has. */
function withSpec(pod: JsonObject, old: JsonObject, spec: JsonObject): JsonObject {
  const { managedFields, resourceVersion } = metaOf(pod);
  return { ...withMeta(old, { managedFields, resourceVersion }), spec };
}

/** A Pod in which only the ephemeral containers change. */
export function withEphemeralContainers(pod: JsonObject, old: JsonObject): JsonObject {
  const { ephemeralContainers: _before, ...spec } = objectAt(old, ["spec"]);
  const given = listAt(pod, "spec", "ephemeralContainers");
  return withSpec(pod, old, given.length === 0 ? spec : { ...spec, ephemeralContainers: given });
}

/** Ephemeral containers stay as they are once they exist. */
export function ephemeralContainerErrors(pod: JsonObject, old: JsonObject): FieldError[] {
  if (isMirror(old)) return [forbiddenValue("", "static pods do not support ephemeral containers")];
  const path = "spec.ephemeralContainers";
  const now = new Map(listAt(pod, "spec", "ephemeralContainers").map((one) => [stringAt(one, ["name"]), one]));
  return firstErrors(listAt(old, "spec", "ephemeralContainers"), (before) => {
    const name = goQuote(stringAt(before, ["name"]));
    const after = now.get(stringAt(before, ["name"]));
    if (after === undefined)
      return [forbiddenValue(path, `existing ephemeral containers ${name} may not be removed\n`)];
    return jsonEqual(after, before)
      ? []
      : [forbiddenValue(path, `existing ephemeral containers ${name} may not be changed\n`)];
  });
}

const lists = ["containers", "initContainers"] as const;

function haveSameNames(pod: JsonObject, old: JsonObject, list: string): boolean {
  const names = (one: JsonObject): string => printJson(listAt(one, "spec", list).map(({ name }) => name));
  return names(pod) === names(old);
}

/** A Pod in which only the resources of containers, and those of the whole Pod, change. */
export function withResources(pod: JsonObject, old: JsonObject): JsonObject {
  const isSameLength = (list: string): boolean => listAt(pod, "spec", list).length === listAt(old, "spec", list).length;
  if (!lists.every(isSameLength)) return pod;
  const resized = Object.fromEntries(
    lists
      .filter((list) => listAt(pod, "spec", list).length > 0)
      .map((list) => [list, haveSameNames(pod, old, list) ? resizedList(pod, old, list) : listAt(pod, "spec", list)]),
  );
  const whole = memberAt(pod, ["spec", "resources"]);
  return withSpec(pod, old, withMember({ ...objectAt(old, ["spec"]), ...resized }, ["resources"], whole));
}

function resizedList(pod: JsonObject, old: JsonObject, list: string): JsonObject[] {
  const news = listAt(pod, "spec", list);
  return listAt(old, "spec", list).map(({ resources: _resources, resizePolicy: _policy, ...before }, index) => {
    const { resources, resizePolicy } = news[index] ?? {};
    return {
      ...before,
      ...(resources === undefined ? {} : { resources }),
      ...(resizePolicy === undefined ? {} : { resizePolicy }),
    };
  });
}

/** Containers keep their number and their names. */
function orderErrors(pod: JsonObject, old: JsonObject): FieldError[] {
  return lists.flatMap((list) => {
    const [now, before] = [listAt(pod, "spec", list), listAt(old, "spec", list)];
    if (now.length !== before.length) {
      return [forbiddenValue(`spec.${list}`, `${list} may not be added or removed on resize`)];
    }
    return firstErrors(before, (one, index) =>
      one["name"] === now[index]?.["name"]
        ? []
        : [forbiddenValue(`spec.${list}[${index}].name`, `${list} may not be renamed or reordered on resize`)],
    );
  });
}

const resizable = ["cpu", "memory"];

/** Which of the amounts in `resources`, of a container or of a Pod, a resize removes. */
function removedAmounts(now: JsonObject, before: JsonObject): string[] {
  return ["requests", "limits"].filter((member) => {
    const [amounts, old] = [now, before].map((one) => objectAt(one, ["resources", member])) as [JsonObject, JsonObject];
    return Object.keys(old).some((name) => !Object.hasOwn(amounts, name));
  });
}

function removedErrors(pod: JsonObject, old: JsonObject, list: string): FieldError[] {
  return firstErrors(listAt(old, "spec", list), (before, index) =>
    removedAmounts(listAt(pod, "spec", list)[index] ?? {}, before).map((member) =>
      forbiddenValue(`spec.${list}[${index}].resources.${member}`, `resource ${member} cannot be removed`),
    ),
  );
}

/** A container, or the spec of a Pod, without the amounts that a resize changes. */
function fixedPart({ resources, ...rest }: JsonObject): JsonValue {
  const amounts = (member: string): JsonValue =>
    Object.entries(objectAt({ resources: resources ?? {} }, ["resources", member]))
      .filter(([name]) => !resizable.includes(name))
      .sort();
  return { ...rest, requests: amounts("requests"), limits: amounts("limits") };
}

const isFixed = (now: JsonObject, before: JsonObject): boolean => jsonEqual(fixedPart(now), fixedPart(before));

function containerErrors(pod: JsonObject, old: JsonObject): FieldError[] {
  const now = listAt(pod, "spec", "containers");
  return firstErrors(listAt(old, "spec", "containers"), (before, index) =>
    isFixed(now[index] ?? {}, before) ? [] : [forbiddenValue("spec", "only cpu and memory resources are mutable")],
  );
}

function initContainerErrors(pod: JsonObject, old: JsonObject): FieldError[] {
  const now = listAt(pod, "spec", "initContainers");
  const fixed = "only cpu and memory resources for init or sidecar containers are mutable";
  const restarted = "non-sidecar init containers with a resize policy of RestartContainer cannot be resized";
  return firstErrors(listAt(old, "spec", "initContainers"), (before, index) => {
    const [one, at] = [now[index] ?? {}, `spec.initContainers[${index}]`];
    const restarts = listAt(one, "resizePolicy").filter((policy) => policy["restartPolicy"] === "RestartContainer");
    const isPlain = stringAt(one, ["restartPolicy"]) !== "Always";
    return [
      ...(isFixed(one, before) ? [] : [forbiddenValue(at, fixed)]),
      ...(isPlain && !jsonEqual(one, before) ? restarts.map(() => forbiddenValue(at, restarted)) : []),
    ];
  });
}

/** The resources of the whole Pod. */
function podLevelErrors(pod: JsonObject, old: JsonObject): FieldError[] {
  const [now, before] = [objectAt(pod, ["spec"]), objectAt(old, ["spec"])];
  if (isJsonObject(before["resources"]) && !isJsonObject(now["resources"])) {
    return [forbiddenValue("spec.resources", "pod-level resources cannot be removed")];
  }
  const only = "only cpu and memory resources are mutable at pod-level";
  const part = (spec: JsonObject): JsonObject => ({ resources: objectAt(spec, ["resources"]) });
  return [
    ...removedAmounts(now, before).map((member) =>
      forbiddenValue(`spec.resources.${member}`, `pod-level resource ${member} cannot be removed`),
    ),
    ...(isFixed(part(now), part(before)) ? [] : [forbiddenValue("spec", only)]),
  ];
}

/** A container that runs without a record of its resources cannot be resized. */
function isResizable(pod: JsonObject): boolean {
  const running = listAt(pod, "status", "containerStatuses").find(
    (one) => Object.keys(objectAt(one, ["state", "running"])).length > 0,
  );
  return running === undefined || running["resources"] !== undefined;
}

const isMirror = (pod: JsonObject): boolean => metaOf(pod).annotations?.["kubernetes.io/config.mirror"] !== undefined;

/** The errors of a resize. */
export function resizeErrors(pod: JsonObject, old: JsonObject): FieldError[] {
  if (isMirror(old)) return [forbiddenValue("", "static pods cannot be resized")];
  if (stringAt(old, ["spec", "os", "name"]) === "windows")
    return [forbiddenValue("", "windows pods cannot be resized")];
  const shown = stringAt(old, ["status", "qosClass"]);
  const isSameQuality = (shown || qosClassOf(old)) === qosClassOf(pod);
  const why = "Pod QOS Class may not change as a result of resizing";
  const order = orderErrors(pod, old);
  return [
    ...(isSameQuality ? [] : [invalidValue("spec", shown, why)]),
    ...(isResizable(old) ? [] : [forbiddenValue("spec", "Pod running on node without support for resize")]),
    ...podLevelErrors(pod, old),
    ...(order.length > 0
      ? order
      : [
          ...removedErrors(pod, old, "initContainers"),
          ...removedErrors(pod, old, "containers"),
          ...containerErrors(pod, old),
          ...initContainerErrors(pod, old),
        ]),
  ];
}

const countedResources = ["cpu", "memory"];

/** How surely a Pod gets what it asks for: the less it has said, the less surely. */
export function qosClassOf(pod: JsonObject): "BestEffort" | "Burstable" | "Guaranteed" {
  const whole = memberAt(pod, ["spec", "resources"]);
  // The resources of the whole Pod count alone, where they are set.
  const containers: readonly JsonObject[] = isJsonObject(whole)
    ? [{ resources: whole }]
    : [...listAt(pod, "spec", "containers"), ...listAt(pod, "spec", "initContainers")];
  const amounts = containers.map((container) => ({
    requests: counted(objectAt(container, ["resources", "requests"])),
    limits: counted(objectAt(container, ["resources", "limits"])),
  }));
  if (amounts.every(({ requests, limits }) => requests.size + limits.size === 0)) return "BestEffort";
  const isGuaranteed = amounts.every(
    ({ requests, limits }) =>
      limits.size === countedResources.length &&
      countedResources.every(
        (name) => compareQuantities(requests.get(name) ?? limits.get(name) ?? "", limits.get(name) ?? "") === 0,
      ),
  );
  return isGuaranteed ? "Guaranteed" : "Burstable";
}

/** The amounts that count, unless they are nothing. */
function counted(amounts: JsonObject): Map<string, string> {
  const given = countedResources.filter(
    (name) => amounts[name] !== undefined && compareQuantities(String(amounts[name]), "0") > 0,
  );
  return new Map(given.map((name) => [name, String(amounts[name])]));
}
