// SPDX-License-Identifier: Apache-2.0
import type { KindRules } from "@purlin/kube-apiserver/kinds";
import { timestamp } from "@purlin/kube-objects/apply";
import { objectAt, stringAt } from "@purlin/kube-objects/object";

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
  prepareCreate: (object) => ({ ...object, status: { phase: "Pending" } }),
};
