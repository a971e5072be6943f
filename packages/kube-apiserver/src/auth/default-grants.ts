// SPDX-License-Identifier: Apache-2.0
import type { AccessAttributes } from "./authorizer.ts";
import { authenticatedGroup, type User, unauthenticatedGroup } from "./user.ts";

/** What everybody in a group may do on every cluster, in the form of a role. */
export interface Grant {
  /** The role, and the binding that gives it. */
  readonly role: string;
  readonly groups: readonly string[];
  readonly resources: readonly {
    readonly group: string;
    readonly resources: readonly string[];
    readonly verb: string;
  }[];
  /** Paths that may be read; a star at the end stands for everything below. */
  readonly paths: readonly string[];
}

const publicPaths = ["/healthz", "/livez", "/readyz", "/version", "/version/"];

/** The grants of the reference that do not need rules of RBAC to be evaluated: to know oneself, and to find one's way. */
export const defaultGrants: readonly Grant[] = [
  {
    role: "system:basic-user",
    groups: [authenticatedGroup],
    resources: [
      {
        group: "authorization.k8s.io",
        resources: ["selfsubjectaccessreviews", "selfsubjectrulesreviews"],
        verb: "create",
      },
      { group: "authentication.k8s.io", resources: ["selfsubjectreviews"], verb: "create" },
    ],
    paths: [],
  },
  {
    role: "system:public-info-viewer",
    groups: [authenticatedGroup, unauthenticatedGroup],
    resources: [],
    paths: publicPaths,
  },
  {
    role: "system:discovery",
    groups: [authenticatedGroup],
    resources: [],
    paths: [
      "/api",
      "/api/*",
      "/apis",
      "/apis/*",
      "/healthz",
      "/livez",
      "/openapi",
      "/openapi/*",
      ...publicPaths.slice(2),
    ],
  },
];

/** Members of this group may read metrics and health. */
const monitoringGroup = "system:monitoring";
/** The paths of the ClusterRole `system:monitoring`. */
export const monitoredPaths: readonly string[] = [
  "/flagz",
  "/healthz",
  "/healthz/*",
  "/livez",
  "/livez/*",
  "/metrics",
  "/metrics/slis",
  "/readyz",
  "/readyz/*",
  "/statusz",
];
const monitoring: Grant = { role: monitoringGroup, groups: [monitoringGroup], resources: [], paths: monitoredPaths };

/** Why a user is allowed by default; undefined when the user is not. */
export function grantedReason(user: User, access: AccessAttributes): string | undefined {
  for (const grant of [...defaultGrants, monitoring]) {
    const group = grant.groups.find((name) => user.groups.includes(name));
    if (group !== undefined && covers(grant, access)) {
      return `RBAC: allowed by ClusterRoleBinding "${grant.role}" of ClusterRole "${grant.role}" to Group "${group}"`;
    }
  }
  return undefined;
}

function covers({ resources, paths }: Grant, access: AccessAttributes): boolean {
  if (access.kind === "path") return access.verb === "get" && paths.some((path) => matches(path, access.path));
  return resources.some(
    ({ group, resources: names, verb }) =>
      access.verb === verb && access.group === group && access.subresource === "" && names.includes(access.resource),
  );
}

function matches(pattern: string, path: string): boolean {
  return pattern.endsWith("*") ? path.startsWith(pattern.slice(0, -1)) : path === pattern;
}
