// SPDX-License-Identifier: Apache-2.0
import type { KindRules } from "@purlin/kube-apiserver/kinds";
import { timestamp } from "@purlin/kube-objects/apply";
import { invalidValue, requiredValue } from "@purlin/kube-objects/errors";
import { memberAt, objectAt, stringAt } from "@purlin/kube-objects/object";
import { quantityNanos } from "@purlin/kube-objects/typed";

/** The rules of PersistentVolumes. The status records when the phase changed. */
export function volumeRules(now: () => Date): KindRules {
  return {
    prepareCreate: (object) => ({
      ...object,
      status: { phase: "Pending", lastPhaseTransitionTime: timestamp(now()) },
    }),
    prepareUpdate: (object, old, endpoint) => {
      if (endpoint !== "status") return object;
      const [status, before] = [objectAt(object, ["status"]), objectAt(old, ["status"])];
      const [time, earlier] = [status, before].map((one) => stringAt(one, ["lastPhaseTransitionTime"]));
      const isSamePhase = status["phase"] === before["phase"];
      if (isSamePhase ? time !== "" || earlier === "" : time !== "" && time !== earlier) return object;
      const lastPhaseTransitionTime = isSamePhase ? (earlier ?? "") : timestamp(now());
      return { ...object, status: { ...status, lastPhaseTransitionTime } };
    },
  };
}

/** The rules of PersistentVolumeClaims. */
export const claimRules: KindRules = {
  validate: (claim) => {
    const modes = memberAt(claim, ["spec", "accessModes"]);
    const storage = memberAt(claim, ["spec", "resources", "requests", "storage"]);
    const place = "spec.resources[storage]";
    return [
      ...(Array.isArray(modes) && modes.length > 0
        ? []
        : [requiredValue("spec.accessModes", "at least 1 access mode is required")]),
      ...(storage === undefined ? [requiredValue(place, "")] : []),
      ...(typeof storage === "string" && quantityNanos(storage) <= 0n
        ? [invalidValue(place, storage, "must be greater than zero")]
        : []),
    ];
  },
  prepareCreate: (object) => ({ ...object, status: { phase: "Pending" } }),
};
