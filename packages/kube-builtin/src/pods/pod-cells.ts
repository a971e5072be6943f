// SPDX-License-Identifier: Apache-2.0

import { at, items, text } from "@purlin/kube-apiserver/kinds";
import type { JsonObject, JsonValue } from "@purlin/kube-objects/json";
import { ageOf } from "@purlin/kube-objects/object";
import { podProgress } from "./pod-status.ts";

/** The cells of a Pod. Pods do not run here, but another program may write their status. */
export function podCells(object: JsonObject, now: number): JsonValue[] {
  const { reason, ready, total, restarts, restartedAt } = podProgress(object);
  const ago = restarts === 0 || restartedAt === undefined ? "" : ` (${ageOf(restartedAt, now)} ago)`;
  return [
    text(object, "metadata", "name"),
    `${ready}/${total}`,
    reason,
    `${restarts}${ago}`,
    ageOf(at(object, "metadata", "creationTimestamp"), now),
    text(object, "status", "podIP") || text(items(object, "status", "podIPs")[0], "ip") || "<none>",
    text(object, "spec", "nodeName") || "<none>",
    text(object, "status", "nominatedNodeName") || "<none>",
    gatesText(object),
  ];
}

function gatesText(object: JsonObject): string {
  const gates = items(object, "spec", "readinessGates").map((gate) => text(gate, "conditionType"));
  const passed = new Set(
    items(object, "status", "conditions")
      .filter((one) => text(one, "status") === "True")
      .map((one) => text(one, "type")),
  );
  return gates.length === 0 ? "<none>" : `${gates.filter((gate) => passed.has(gate)).length}/${gates.length}`;
}

const ended: Readonly<Record<string, string>> = {
  Succeeded: "The pod has completed successfully.",
  Failed: "The pod failed.",
};

/** What a row says about a Pod that has come to its end, so that clients may leave it out. */
export function podConditions(object: JsonObject): JsonObject[] {
  const phase = text(object, "status", "phase");
  const message = Object.hasOwn(ended, phase) ? ended[phase] : undefined;
  return message === undefined ? [] : [{ type: "Completed", status: "True", reason: phase, message }];
}
