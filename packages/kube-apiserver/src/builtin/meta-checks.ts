// SPDX-License-Identifier: Apache-2.0
import type { ResourceType } from "../registry/resource-type.ts";
import type { Endpoint, MetaChecks } from "../rest/object-strategy.ts";

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

/** Which checks of metadata the reference's own rules of a built-in kind repeat for a change. */
export function metaChecks({ group, kind }: ResourceType, endpoint: Endpoint): MetaChecks {
  const hasNone = (kind === "Event" && group === "") || (kind === "CronJob" && endpoint === "status");
  return { ofChange: !hasNone, ofWhole: endpoint === "" && WHOLLY.has(kind) };
}
