// SPDX-License-Identifier: Apache-2.0
import type { JsonObject } from "@purlin/kube-objects";
import { MASTERS_GROUP, type User } from "../auth/user.ts";
import type { ApiRequest } from "../request/api-request.ts";
import type { Handler } from "./handler.ts";

/** The server itself, when it makes objects. */
export const SYSTEM_USER: User = { name: "system:apiserver", groups: [MASTERS_GROUP, "system:authenticated"] };

const NAMESPACES = ["default", "kube-system", "kube-public", "kube-node-lease"];
const RBAC = "rbac.authorization.k8s.io";
const BOOTSTRAP_LABELS = { "kubernetes.io/bootstrapping": "rbac-defaults" };

/** What a cluster has before anybody has made anything: path and object. */
function bootstrapObjects(): (readonly [path: string, object: JsonObject])[] {
  const roles = `/apis/${RBAC}/v1/clusterroles`;
  return [
    ...NAMESPACES.map(
      (name) => ["/api/v1/namespaces", { apiVersion: "v1", kind: "Namespace", metadata: { name } }] as const,
    ),
    [
      roles,
      {
        apiVersion: `${RBAC}/v1`,
        kind: "ClusterRole",
        metadata: { name: "cluster-admin", labels: BOOTSTRAP_LABELS },
        rules: [
          { apiGroups: ["*"], resources: ["*"], verbs: ["*"] },
          { nonResourceURLs: ["*"], verbs: ["*"] },
        ],
      },
    ],
    [
      `/apis/${RBAC}/v1/clusterrolebindings`,
      {
        apiVersion: `${RBAC}/v1`,
        kind: "ClusterRoleBinding",
        metadata: { name: "cluster-admin", labels: BOOTSTRAP_LABELS },
        roleRef: { apiGroup: RBAC, kind: "ClusterRole", name: "cluster-admin" },
        subjects: [{ apiGroup: RBAC, kind: "Group", name: MASTERS_GROUP }],
      },
    ],
  ];
}

/** Makes what is missing of what every cluster has. */
export async function bootstrap(handle: Handler): Promise<void> {
  for (const [path, object] of bootstrapObjects()) {
    await createMissing(handle, path, object);
  }
}

/** Creates an object unless it is there. */
export async function createMissing(handle: Handler, path: string, object: JsonObject): Promise<void> {
  const request: ApiRequest = {
    method: "POST",
    path,
    query: new URLSearchParams(),
    headers: { "user-agent": "kube-apiserver" },
    body: { kind: "value", value: object },
    user: SYSTEM_USER,
    signal: new AbortController().signal,
  };
  const response = await handle(request);
  if (response.code >= 400 && response.code !== 409 && response.kind === "complete") {
    throw new Error(`cannot create ${path}: ${JSON.stringify(response.payload?.value())}`);
  }
}
