// SPDX-License-Identifier: Apache-2.0
import type { ResourceReader } from "@purlin/function-runner";
import { isNoMatch } from "@purlin/kube-client/objects";
import type { ControllerClient } from "@purlin/kube-controller";
import type { JsonObject } from "@purlin/kube-objects/json";
import { formatApiVersion, type GroupVersionKind, type KubeObject } from "@purlin/kube-objects/object";

/** Reads required resources through a controller's client: from shared caches, and Secrets live. */
export function clientReader(client: Pick<ControllerClient, "get" | "list" | "mapper">): ResourceReader {
  return {
    async scopeOf(gvk, signal) {
      try {
        return (await client.mapper.mapping(typeOf(gvk), signal)).namespaced ? "Namespaced" : "Cluster";
      } catch (error) {
        if (isNoMatch(error)) return undefined;
        throw error;
      }
    },
    async get(gvk, { namespace, name, signal }) {
      return asJson(await client.get(typeOf(gvk), { namespace, name }, { signal }));
    },
    async list(gvk, { namespace, labels, limit, signal }) {
      const objects = await client.list(typeOf(gvk), { namespace, labels: Object.fromEntries(labels), limit, signal });
      return objects;
    },
  };
}

function typeOf(gvk: GroupVersionKind): { readonly apiVersion: string; readonly kind: string } {
  return { apiVersion: formatApiVersion(gvk), kind: gvk.kind };
}

function asJson(object: KubeObject | undefined): JsonObject | undefined {
  return object;
}
