// SPDX-License-Identifier: Apache-2.0

import type { JsonObject } from "@purlin/kube-objects/json";
import type { GroupVersionKind } from "@purlin/kube-objects/object";

/** Whether objects of a kind live in namespaces. */
export type KindScope = "Namespaced" | "Cluster";

/** One object of a kind. */
interface ObjectQuery {
  /** Absent for a cluster-scoped kind. */
  readonly namespace?: string | undefined;
  readonly name: string;
  readonly signal?: AbortSignal | undefined;
}

/** Many objects of a kind. */
export interface ListQuery {
  /** Absent for all namespaces. */
  readonly namespace?: string | undefined;
  /** Labels an object must carry, all of them; none means every object. */
  readonly labels: ReadonlyMap<string, string>;
  /** As many are enough: the reader may stop there. */
  readonly limit?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Where required resources are read from: a cluster, the embedded API server, or files. Objects are never changed. */
export interface ResourceReader {
  /** The scope of a kind; undefined when there is no such kind. */
  scopeOf(gvk: GroupVersionKind, signal?: AbortSignal): Promise<KindScope | undefined>;
  /** An object; undefined when it does not exist. Rejects on any other failure. */
  get(gvk: GroupVersionKind, query: ObjectQuery): Promise<JsonObject | undefined>;
  /** All objects that match, in any order. */
  list(gvk: GroupVersionKind, query: ListQuery): Promise<readonly JsonObject[]>;
}
