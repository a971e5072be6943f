// SPDX-License-Identifier: Apache-2.0
import type { Containment } from "./containment.ts";

/** What enforces the limits of functions here, in words. */
export function describeMechanism({ groups, namespace }: Pick<Containment, "groups" | "namespace">): string {
  const controllers = groups?.controllers ?? new Set<string>();
  const by = ["memory", "pids", "cpu"].filter((name) => controllers.has(name));
  const parts = [
    by.length > 0 ? `control groups (${by.join(", ")})` : undefined,
    "ulimit",
    namespace?.ownPidMax === true ? "pid_max of a PID namespace" : undefined,
    "supervision",
  ];
  return parts.filter((part) => part !== undefined).join(", ");
}

/** What ends the descendants of functions here, in words. */
export function describeEnding({ groups, namespace }: Pick<Containment, "groups" | "namespace">): string {
  const parts = [
    "process groups",
    groups === undefined ? undefined : "control groups",
    namespace === undefined ? undefined : "PID namespaces",
    "marks",
  ];
  return parts.filter((part) => part !== undefined).join(", ");
}
