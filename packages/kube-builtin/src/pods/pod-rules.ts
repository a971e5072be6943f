// SPDX-License-Identifier: Apache-2.0

import {
  all,
  type Check,
  eachItem,
  type KindRules,
  listAt,
  metaOf,
  textFields,
  withMeta,
} from "@purlin/kube-apiserver/kinds";
import { forbiddenValue, invalidValue } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { objectAt, stringAt } from "@purlin/kube-objects/object";
import { podChangeErrors } from "./pod-change.ts";
import { ephemeralContainerErrors, resizeErrors, withEphemeralContainers, withResources } from "./pod-parts.ts";
import { podSpec } from "./pod-spec.ts";
import { nameWarnings, podWarnings } from "./pod-warnings.ts";
import { qosClassOf } from "./qos-class.ts";

const trimmed: Check = (container, path) => {
  const image = stringAt(container, ["image"]);
  return image === image.trim()
    ? []
    : [invalidValue(`${path}.image`, image, "must not have leading or trailing whitespace")];
};

/** What only a Pod itself must not have, a template may. */
const onlyPod: Check = all(
  eachItem("containers", trimmed),
  eachItem("initContainers", trimmed),
  eachItem("ephemeralContainers", trimmed),
);

/** A Pod that gives itself less than no time to end gets a second. */
function withGrace(pod: JsonObject): JsonObject {
  const spec = objectAt(pod, ["spec"]);
  const seconds = spec["terminationGracePeriodSeconds"];
  const isNegative = typeof seconds === "number" && seconds < 0;
  return isNegative ? { ...pod, spec: { ...spec, terminationGracePeriodSeconds: 1 } } : pod;
}

/** The rules of Pods. */
export const podRules: KindRules = {
  prepareCreate: (pod) => {
    const known = withGrace(pod);
    return { ...known, status: { phase: "Pending", qosClass: qosClassOf(known) } };
  },
  prepareUpdate: (pod, old, endpoint) => {
    if (endpoint === "ephemeralcontainers") return withEphemeralContainers(pod, old);
    if (endpoint === "resize") return withResources(pod, old);
    return endpoint === "status" ? withMeta(pod, { ownerReferences: metaOf(old).ownerReferences }) : pod;
  },
  validate: (pod) => all(podSpec, onlyPod)(objectAt(pod, ["spec"]), "spec"),
  validateNew: (pod) =>
    listAt(pod, "spec", "ephemeralContainers").length > 0
      ? [forbiddenValue("spec.ephemeralContainers", "cannot be set on create")]
      : [],
  // Pods change often, and mostly through programs that read no warnings.
  warnings: (pod, old) =>
    old === undefined ? [...nameWarnings(pod, "the Pod's hostname"), ...podWarnings(pod, "")] : [],
  validateChange: (pod, old, endpoint) => {
    if (endpoint === "ephemeralcontainers") return ephemeralContainerErrors(pod, old);
    return endpoint === "resize" ? resizeErrors(pod, old) : podChangeErrors(pod, old);
  },
  fields: textFields(
    "spec.nodeName",
    "spec.restartPolicy",
    "spec.schedulerName",
    "spec.serviceAccountName",
    "spec.hostNetwork",
    "status.phase",
    "status.podIP",
    "status.podIPs",
    "status.nominatedNodeName",
  ),
};
