// SPDX-License-Identifier: Apache-2.0
import { isNoMatch, resourcePath } from "@purlin/kube-client";
import type { KubeObject } from "@purlin/kube-objects/object";
import type { Cluster } from "../cluster/cluster-client.ts";

/** Where the object of a manifest is on the API server; undefined where its kind is not served. */
export async function manifestPath(
  { client, namespace }: Cluster,
  object: KubeObject,
  signal: AbortSignal,
): Promise<{ readonly path: string; readonly isNamespaced: boolean } | undefined> {
  try {
    const mapping = await client.mapper.mapping(object, signal);
    const { name = "", namespace: own } = object.metadata;
    const key = mapping.namespaced ? { name, namespace: own || namespace } : { name };
    return { path: resourcePath(mapping, key), isNamespaced: mapping.namespaced };
  } catch (error) {
    if (isNoMatch(error)) return undefined;
    throw error;
  }
}
