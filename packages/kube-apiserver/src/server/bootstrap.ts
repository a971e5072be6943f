// SPDX-License-Identifier: Apache-2.0
import { isAlreadyExists, type JsonObject } from "@purlin/kube-objects";
import { MASTERS_GROUP } from "../auth/user.ts";
import type { InternalClient } from "./internal-client.ts";

const NAMESPACES = ["default", "kube-system", "kube-public", "kube-node-lease"];
const RBAC = "rbac.authorization.k8s.io";
const BOOTSTRAP_LABELS = { "kubernetes.io/bootstrapping": "rbac-defaults" };

const AUTOUPDATE = { "rbac.authorization.kubernetes.io/autoupdate": "true" };

/** What a cluster has before anybody has made anything: path and object. */
function bootstrapObjects(): (readonly [path: string, object: JsonObject])[] {
  return [
    ...NAMESPACES.map(
      (name) => ["/api/v1/namespaces", { apiVersion: "v1", kind: "Namespace", metadata: { name } }] as const,
    ),
    [
      `/apis/${RBAC}/v1/clusterroles`,
      {
        apiVersion: `${RBAC}/v1`,
        kind: "ClusterRole",
        metadata: { name: "cluster-admin", labels: BOOTSTRAP_LABELS, annotations: AUTOUPDATE },
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
        metadata: { name: "cluster-admin", labels: BOOTSTRAP_LABELS, annotations: AUTOUPDATE },
        roleRef: { apiGroup: RBAC, kind: "ClusterRole", name: "cluster-admin" },
        subjects: [{ apiGroup: RBAC, kind: "Group", name: MASTERS_GROUP }],
      },
    ],
  ];
}

/** Makes what is missing of what every cluster has. */
export async function bootstrap(client: InternalClient): Promise<void> {
  await Promise.all(bootstrapObjects().map(([path, object]) => createMissing(client, path, object)));
}

/** Creates an object unless it is there. */
export async function createMissing(client: InternalClient, path: string, object: JsonObject): Promise<void> {
  try {
    await client.send("POST", path, { body: object });
  } catch (error) {
    if (!isAlreadyExists(error)) {
      throw error;
    }
  }
}
