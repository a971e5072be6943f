// SPDX-License-Identifier: Apache-2.0
// The order in which the server deleted objects.
import type { KubeClient } from "@purlin/kube-client";
import type { TypeRef } from "@purlin/kube-objects/object";

/** The deletions that were observed. */
export interface Deletions extends Disposable {
  /** As `Kind name`, first gone first. */
  readonly order: readonly string[];
}

/** Follows types of objects until it is disposed of. */
export async function watchDeletions(users: KubeClient, types: readonly TypeRef[]): Promise<Deletions> {
  const stopping = new AbortController();
  const gone: { readonly name: string; readonly version: number }[] = [];
  const { signal } = stopping;
  for (const type of types) {
    const { resourceVersion } = await users.list(type);
    const events = await users.watch(type, { resourceVersion, signal });
    const follow = async (): Promise<void> => {
      for await (const event of events) {
        if (event.type !== "DELETED") continue;
        const { kind, metadata: deleted } = event.object;
        gone.push({ name: `${kind} ${deleted.name}`, version: Number(deleted.resourceVersion) });
      }
    };
    follow().catch((error: unknown) => {
      if (!signal.aborted) gone.push({ name: String(error), version: Number.POSITIVE_INFINITY });
    });
  }
  return {
    // The version of a deleted object is that of its deletion, whichever watch reported it first.
    get order() {
      return gone.toSorted((a, b) => a.version - b.version).map(({ name }) => name);
    },
    [Symbol.dispose]: () => stopping.abort(),
  };
}
