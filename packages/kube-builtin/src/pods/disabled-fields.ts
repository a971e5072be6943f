// SPDX-License-Identifier: Apache-2.0
import type { KindRules } from "@purlin/kube-apiserver/kinds";
import { isJsonObject, type JsonObject } from "@purlin/kube-objects/json";
import { memberAt, withMember } from "@purlin/kube-objects/object";
import { all, type Edit, each, inside } from "../defaults/pod-defaults.ts";
import { templateLists } from "../storage/volume-rules.ts";

/** A member that a write drops. */
function without(name: string): Edit {
  return (object) => {
    if (object[name] === undefined) return object;
    const { [name]: _dropped, ...rest } = object;
    return rest;
  };
}

const lifecycle: Edit = (container) => {
  const life = container["lifecycle"];
  if (!isJsonObject(life) || life["stopSignal"] === undefined) return container;
  const { stopSignal: _signal, ...rest } = life;
  return Object.keys(rest).length === 0 ? without("lifecycle")(container) : { ...container, lifecycle: rest };
};

/** Fields of features that the reference has off by default. */
const enabled: Edit = all(
  without("schedulingGroup"),
  ...["containers", "initContainers", "ephemeralContainers"].map((list) => each(list, lifecycle)),
  each("volumes", inside("projected", each("sources", all(without("clusterTrustBundle"), without("podCertificate"))))),
);

/** Lists that may not be set, not even to an empty one. */
const emptyLists: readonly string[] = [
  ...templateLists.map((name) => `volumes.*.ephemeral.volumeClaimTemplate.metadata.${name}`),
  "resources.claims",
  ...["ports", "resizePolicy", "restartPolicyRules", "resources.limits", "resources.requests", "resources.claims"].map(
    (name) => `ephemeralContainers.*.${name}`,
  ),
];

/** Rules that drop such fields of the Pod's spec at a path, and keep what counts although it is empty. */
export function withoutDisabledFields(...path: readonly string[]): Pick<KindRules, "withoutDisabled" | "keepsEmpty"> {
  return {
    keepsEmpty: emptyLists.map((list) => [...path, ...list.split(".")]),
    withoutDisabled: (object: JsonObject) => {
      const spec = memberAt(object, path);
      if (!isJsonObject(spec)) return object;
      const kept = enabled(spec);
      return kept === spec ? object : withMember(object, path, kept);
    },
  };
}
