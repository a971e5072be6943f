// SPDX-License-Identifier: Apache-2.0
import type { ResourceType } from "../registry/resource-type.ts";
import type { Endpoint } from "../rest/object-strategy.ts";

/** Kinds whose rules for a change run all rules for new objects too. */
const WHOLLY: ReadonlySet<string> = new Set([
  "ConfigMap",
  "Endpoints",
  "Job",
  "Namespace",
  "Pod",
  "Secret",
  "ServiceAccount",
  "ClusterRole",
  "ClusterRoleBinding",
  "Role",
  "RoleBinding",
]);

/** How often the reference's own rules of a built-in kind look at the metadata of a change. */
export function metaChecks({ group, kind }: ResourceType, endpoint: Endpoint): number {
  if (kind === "Event" && group === "") {
    return 0;
  }
  if (endpoint !== "") {
    return kind === "CronJob" ? 0 : 1;
  }
  return WHOLLY.has(kind) ? 2 : 1;
}
