// SPDX-License-Identifier: Apache-2.0
import {
  all,
  type Check,
  eachItem,
  type KindRules,
  listAt,
  metaOf,
  textFields,
  within,
  withMeta,
} from "@purlin/kube-apiserver/kinds";
import { timestamp } from "@purlin/kube-objects/apply";
import {
  type FieldError,
  firstErrors,
  forbiddenValue,
  invalidPrinted,
  invalidValue,
} from "@purlin/kube-objects/errors";
import {
  isJsonObject,
  isNumber,
  type JsonObject,
  type JsonValue,
  jsonEqual,
  printJson,
} from "@purlin/kube-objects/json";
import { memberAt, objectAt, stringAt, withMember } from "@purlin/kube-objects/object";
import { firstWarnings, type Placed } from "../checks/addresses.ts";
import { goForm, goForms } from "../checks/go-form.ts";
import { hasObject } from "../checks/rule-checks.ts";
import { trimmedImage } from "./containers.ts";
import {
  ephemeralContainerErrors,
  qosClassOf,
  resizeErrors,
  withEphemeralContainers,
  withResources,
} from "./pod-parts.ts";
import { checkingPodSpec } from "./pod-spec.ts";
import { podStatusErrors, withQuality } from "./pod-status.ts";
import { nameWarnings, podWarnings } from "./pod-warnings.ts";

/** What only a Pod itself must not have, a template may. */
const onlyPod: Check = all(
  (spec, path) =>
    stringAt(spec, ["serviceAccountName"]) === ""
      ? eachItem(
          "volumes",
          eachItemAt(["projected", "sources"], (source, at) =>
            hasObject(source, "serviceAccountToken")
              ? [
                  forbiddenValue(
                    `${at}.serviceAccountToken`,
                    "must not be specified when serviceAccountName is not set",
                  ),
                ]
              : [],
          ),
        )(spec, path)
      : [],
  eachItem("containers", trimmedImage),
  eachItem("initContainers", trimmedImage),
);

function eachItemAt([member, list]: readonly [string, string], check: Check): Check {
  return within(member, eachItem(list, check));
}

const notScheduled = "cannot be set until all schedulingGates have been cleared";

function newPodErrors(pod: JsonObject): FieldError[] {
  const spec = objectAt(pod, ["spec"]);
  const isBound = stringAt(spec, ["nodeName"]) !== "";
  return [
    ...(listAt(spec, "ephemeralContainers").length > 0
      ? [forbiddenValue("spec.ephemeralContainers", "cannot be set on create")]
      : []),
    ...(isBound && isGated(spec) ? [forbiddenValue("spec.nodeName", notScheduled)] : []),
  ];
}

/** A Pod that gives itself less than no time to end gets a second. */
function withGrace(pod: JsonObject): JsonObject {
  const spec = objectAt(pod, ["spec"]);
  const seconds = spec["terminationGracePeriodSeconds"];
  const isNegative = isNumber(seconds) && seconds < 0;
  return isNegative ? { ...pod, spec: { ...spec, terminationGracePeriodSeconds: 1 } } : pod;
}

const gated = "Scheduling is blocked due to non-empty scheduling gates";

/** The status of a new Pod. One with scheduling gates says that it waits for them. */
function newStatus(pod: JsonObject, now: Date): JsonObject {
  const waits = { type: "PodScheduled", status: "False", lastProbeTime: null, lastTransitionTime: timestamp(now) };
  return {
    phase: "Pending",
    ...(isGated(objectAt(pod, ["spec"])) && { conditions: [{ ...waits, reason: "SchedulingGated", message: gated }] }),
    qosClass: qosClassOf(pod),
  };
}

/** An empty overhead is refused for a new Pod, and means nothing later. */
function withoutNoOverhead(pod: JsonObject): JsonObject {
  const overhead = memberAt(pod, ["spec", "overhead"]);
  const isNone = isJsonObject(overhead) && Object.keys(overhead).length === 0;
  return isNone ? withMember(pod, ["spec", "overhead"], undefined) : pod;
}

function* statusAddresses(pod: JsonObject): Generator<Placed> {
  for (const list of ["podIPs", "hostIPs"]) {
    for (const [index, one] of listAt(pod, "status", list).entries()) {
      yield [stringAt(one, ["ip"]), `status.${list}[${index}].ip`];
    }
  }
}

/** The rules of Pods. */
export const podRules = (now: () => Date): KindRules => ({
  prepareCreate: (pod) => {
    const known = withGrace(pod);
    return { ...known, status: newStatus(known, now()) };
  },
  prepareUpdate: (pod, old, endpoint) => {
    if (endpoint === "ephemeralcontainers") return withEphemeralContainers(pod, old);
    if (endpoint === "resize") return withResources(pod, old);
    if (endpoint !== "status") return withoutNoOverhead(pod);
    return withQuality(withMeta(pod, { ownerReferences: metaOf(old).ownerReferences }), old);
  },
  *validatingRest(pod) {
    const spec = objectAt(pod, ["spec"]);
    const errors = yield* checkingPodSpec(spec, "spec", metaOf(pod).name ?? "");
    yield;
    return [...errors, ...onlyPod(spec, "spec")];
  },
  validateNew: newPodErrors,
  // Pods change often, and mostly through programs that read no warnings.
  warnings: (pod, old, endpoint) => {
    if (endpoint === "status") return firstWarnings(statusAddresses(pod));
    return old === undefined ? [...nameWarnings(pod, "the Pod's hostname"), ...podWarnings(pod, "")] : [];
  },
  validateChange: (pod, old, endpoint) => {
    if (endpoint === "ephemeralcontainers") return ephemeralContainerErrors(pod, old);
    if (endpoint === "resize") return resizeErrors(pod, old);
    return endpoint === "status" ? podStatusErrors(pod, old) : podChangeErrors(pod, old);
  },
  fields: {
    ...textFields("spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName"),
    "spec.hostNetwork": (pod) => String(memberAt(pod, ["spec", "hostNetwork"]) === true),
    ...textFields("status.phase", "status.nominatedNodeName"),
    "status.podIP": (pod) =>
      stringAt(pod, ["status", "podIP"]) || stringAt(listAt(pod, "status", "podIPs")[0] ?? {}, ["ip"]),
    // Accepted by the reference, where it is always empty.
    "status.podIPs": () => "",
  },
});

const allowed =
  "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";

/** What is wrong with changing a Pod: hardly anything of its spec can be. */
function podChangeErrors(pod: JsonObject, old: JsonObject): FieldError[] {
  const [now, before] = [objectAt(pod, ["spec"]), objectAt(old, ["spec"])];
  const lists = ["containers", "initContainers"].filter(
    (name) => listAt(now, name).length !== listAt(before, name).length,
  );
  if (lists.length > 0) return [forbiddenValue(`spec.${lists[0]}`, "pod updates may not add or remove containers")];
  const deadline = deadlineErrors(now, before);
  if (deadline.length > 0 && isNumber(memberAt(now, ["activeDeadlineSeconds"]))) return deadline;
  return [
    ...deadline,
    ...tolerationErrors(now, before),
    ...gateErrors(now, before),
    ...(isGated(before) ? gatedErrors(now, before) : []),
    ...otherErrors(now, before),
  ];
}

const isGated = (spec: JsonObject): boolean => listAt(spec, "schedulingGates").length > 0;

/** Scheduling gates may only be removed. */
function gateErrors(now: JsonObject, before: JsonObject): FieldError[] {
  const known = new Set(listAt(before, "schedulingGates").map((gate) => stringAt(gate, ["name"])));
  return firstErrors(listAt(now, "schedulingGates"), (gate, index) => {
    const name = stringAt(gate, ["name"]);
    const why = `only deletion is allowed, but found new scheduling gate '${name}'`;
    return known.has(name) ? [] : [forbiddenValue(`spec.schedulingGates[${index}].name`, why)];
  });
}

const required = ["affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms"];

/** As long as a Pod waits for its gates, the nodes that it can run on may become fewer. */
function gatedErrors(now: JsonObject, before: JsonObject): FieldError[] {
  const [nodes, oldNodes] = [now, before].map((spec) => objectAt(spec, ["nodeSelector"])) as [JsonObject, JsonObject];
  const [terms, oldTerms] = [now, before].map((spec) => listAt(spec, ...required)) as [JsonObject[], JsonObject[]];
  const at = `spec.${required.join(".")}`;
  const isKept = Object.entries(oldNodes).every(([key, value]) => nodes[key] === value);
  const added = "only additions to spec.nodeSelector are allowed (no mutations or deletions)";
  const selector = isKept ? [] : [invalidValue("spec.nodeSelector", now["nodeSelector"] ?? null, added)];
  if (oldTerms.length > 0 && oldTerms.length !== terms.length) {
    const why = "no additions/deletions to non-empty NodeSelectorTerms list are allowed";
    return [...selector, invalidPrinted(at, goForms("NodeSelectorTerm", terms), why)];
  }
  const wider = firstErrors(oldTerms, (old, index) => {
    const term = terms[index] ?? {};
    const why = "only additions are allowed (no mutations or deletions)";
    return isNarrowed(term, old) ? [] : [invalidPrinted(`${at}[${index}]`, goForm("NodeSelectorTerm", term), why)];
  });
  return [...selector, ...wider];
}

/** Whether a term begins with all requirements of another. One without requirements matches nothing and stays so. */
function isNarrowed(term: JsonObject, old: JsonObject): boolean {
  const members = ["matchExpressions", "matchFields"];
  const isEmpty = (one: JsonObject): boolean => members.every((name) => listAt(one, name).length === 0);
  if (isEmpty(old)) return isEmpty(term);
  return members.every((name) => {
    const kept = listAt(old, name);
    return jsonEqual(listAt(term, name).slice(0, kept.length), kept);
  });
}

function deadlineErrors(now: JsonObject, before: JsonObject): FieldError[] {
  const [deadline, was] = [memberAt(now, ["activeDeadlineSeconds"]), memberAt(before, ["activeDeadlineSeconds"])];
  const path = "spec.activeDeadlineSeconds";
  if (!isNumber(was)) return [];
  if (!isNumber(deadline)) return [invalidValue(path, null, "must not update from a positive integer to nil value")];
  return deadline > was ? [invalidValue(path, deadline, "must be less than or equal to previous value")] : [];
}

/** Tolerations may be added, and be given other times. */
function tolerationErrors(now: JsonObject, before: JsonObject): FieldError[] {
  const present = new Set(listAt(now, "tolerations").map(textWithoutTime));
  return listAt(before, "tolerations").every((one) => present.has(textWithoutTime(one)))
    ? []
    : [forbiddenValue("spec.tolerations", "existing toleration can not be modified except its tolerationSeconds")];
}

/** Two that differ at most in their times have the same text: all other members are texts. */
function textWithoutTime({ tolerationSeconds: _, ...toleration }: JsonObject): string {
  return printJson(Object.entries(toleration).sort());
}

function otherErrors(now: JsonObject, before: JsonObject): FieldError[] {
  const [next, last] = [withAllowed(now, before), before];
  const names = [...new Set([...Object.keys(last), ...Object.keys(next)])].filter(
    (name) => !jsonEqual((next[name] ?? null) as JsonValue, (last[name] ?? null) as JsonValue),
  );
  // The reference shows the difference in the form its own types have; ours is that of the object.
  const lines = names.flatMap((name) => [...shown("-", name, last[name]), ...shown("+", name, next[name])]);
  return names.length === 0 ? [] : [forbiddenValue("spec", `${allowed}\n${lines.join("\n")}\n`)];
}

function shown(sign: string, name: string, value: JsonValue | undefined): string[] {
  return value === undefined ? [] : [`${sign} ${JSON.stringify(name)}: ${printJson(value)}`];
}

/** The new spec with everything that may change as it was. */
function withAllowed(now: JsonObject, before: JsonObject): JsonObject {
  const images = (name: string): JsonObject => {
    const olds = listAt(before, name);
    const list = listAt(now, name).map((one, index) => ({ ...one, image: stringAt(olds[index] ?? {}, ["image"]) }));
    return list.length === 0 ? {} : { [name]: list };
  };
  const members = [
    "activeDeadlineSeconds",
    "tolerations",
    "schedulingGates",
    ...(isGated(before) ? ["nodeSelector"] : []),
  ];
  const kept = members.reduce((spec, name) => withMember(spec, [name], before[name]), withAffinity(now, before));
  const grace = before["terminationGracePeriodSeconds"];
  const isRelaxed = isNumber(grace) && grace < 0 && now["terminationGracePeriodSeconds"] === 1;
  return {
    ...kept,
    ...images("containers"),
    ...images("initContainers"),
    ...(isRelaxed ? { terminationGracePeriodSeconds: grace } : {}),
  };
}

/** The spec of a gated Pod with the old affinity to nodes. */
function withAffinity(now: JsonObject, before: JsonObject): JsonObject {
  if (!isGated(before)) return now;
  const path = ["affinity", "nodeAffinity"];
  const affinity = objectAt(withMember(now, path, memberAt(before, path)), ["affinity"]);
  const isNone = Object.keys(affinity).length === 0 && !hasObject(before, "affinity");
  return withMember(now, ["affinity"], isNone ? undefined : affinity);
}
