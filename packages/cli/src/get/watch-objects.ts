// SPDX-License-Identifier: Apache-2.0

import { type JsonValue, type Status, StatusError } from "@purlin/kube-objects";
import type { KubeObject } from "@purlin/kube-objects/object";
import type { Cluster } from "../cluster/cluster-client.ts";
import { pathOf } from "../cluster/find-resource.ts";
import type { Target } from "../cluster/find-targets.ts";
import { queryOf, type Selection } from "./fetch-objects.ts";

/** How a target is watched. */
export interface WatchTargetOptions {
  readonly selection: Selection;
  readonly accept: string;
  /** Changes after this version. */
  readonly resourceVersion: string;
  readonly signal: AbortSignal;
}

/** Each change of a target from a version on, as an object or a Table with one row. Ends with the server's watch. */
export async function* watchTarget(
  { client }: Cluster,
  { resource, name }: Target,
  { selection, accept, resourceVersion, signal }: WatchTargetOptions,
): AsyncGenerator<JsonValue, void, undefined> {
  const named = name === undefined ? {} : { fieldSelector: `metadata.name=${name}` };
  const query = { ...queryOf(selection), ...named, resourceVersion };
  const path = pathOf(resource, { namespace: selection.namespace });
  for await (const event of await client.rawWatch({ method: "GET", path, accept, query, signal })) {
    const { type, object } = event as unknown as { readonly type: string; readonly object: JsonValue };
    if (type === "ERROR") throw new StatusError(object as unknown as Status);
    if (type !== "BOOKMARK") yield object;
  }
}

/** The version of an answer, from which a watch goes on. */
export function versionOf(answer: JsonValue): string {
  const { metadata } = answer as unknown as Pick<KubeObject, "metadata">;
  return metadata.resourceVersion ?? "";
}
