// SPDX-License-Identifier: Apache-2.0

import type { KubeReader } from "@purlin/kube-client";
import { type KubeObject, type TypeRef, textAt } from "@purlin/kube-objects/object";
import type { CachedListOptions } from "./controller-client.ts";

const pageSize = 500;

/** The objects of a type from the server itself, page by page, up to a limit. */
export async function listLive(
  reader: KubeReader,
  type: TypeRef,
  { namespace, labels = {}, field, limit = Number.POSITIVE_INFINITY, signal }: CachedListOptions,
): Promise<readonly KubeObject[]> {
  const terms = Object.entries(labels).map(([key, value]) => `${key}=${value}`);
  const labelSelector = terms.length === 0 ? undefined : terms.join(",");
  const objects: KubeObject[] = [];
  let next: string | undefined;
  do {
    const page = await reader.list(type, { namespace, labelSelector, signal, limit: pageSize, continue: next });
    for (const item of page.items) {
      if (field === undefined || textAt(item, field.path) === field.value) objects.push(item);
    }
    next = page.continue;
  } while (next !== undefined && objects.length < limit);
  return objects;
}
