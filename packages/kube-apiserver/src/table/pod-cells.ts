// SPDX-License-Identifier: Apache-2.0
import type { JsonObject, JsonValue } from "@purlin/kube-objects";
import { at, count, items, number, text } from "./cell-values.ts";
import { ageOf } from "./human-duration.ts";

/** The cells of a Pod; nobody runs Pods here, but another program may write their status. */
export function podCells(object: JsonObject, now: number): JsonValue[] {
  const statuses = items(object, "status", "containerStatuses");
  const ready = statuses.filter((one) => at(one, "ready") === true && at(one, "state", "running") !== undefined).length;
  const restarts = statuses.reduce((sum, one) => sum + number(one, "restartCount"), 0);
  const gates = count(object, "spec", "readinessGates");
  return [
    text(object, "metadata", "name"),
    `${ready}/${count(object, "spec", "containers")}`,
    podStatus(object, statuses),
    String(restarts),
    ageOf(at(object, "metadata", "creationTimestamp"), now),
    text(object, "status", "podIP") || "<none>",
    text(object, "spec", "nodeName") || "<none>",
    text(object, "status", "nominatedNodeName") || "<none>",
    gates === 0 ? "<none>" : `0/${gates}`,
  ];
}

function podStatus(object: JsonObject, statuses: readonly JsonObject[]): string {
  if (text(object, "metadata", "deletionTimestamp") !== "") return "Terminating";
  for (const status of statuses.toReversed()) {
    const reason = text(status, "state", "waiting", "reason") || text(status, "state", "terminated", "reason");
    if (reason !== "") return reason;
  }
  return text(object, "status", "reason") || text(object, "status", "phase");
}
