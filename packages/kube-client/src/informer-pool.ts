// SPDX-License-Identifier: Apache-2.0

import type { TypeRef } from "@purlin/kube-objects/object";
import type { KubeReader } from "./client.ts";
import { type Informer, type InformerOptions, startInformer } from "./informer.ts";

/** A lease of a shared informer. Release it when it is no longer needed. */
export interface InformerLease {
  readonly informer: Informer;
  /** Stops the informer when this is its last lease. */
  release(): Promise<void>;
}

/** One informer per type, shared by all its users: one list and one watch for any number of controllers. */
export interface InformerPool {
  /** A lease of the informer of a type. After the pool has stopped, the informer has stopped as well and waits for it fail. */
  acquire(type: TypeRef): InformerLease;
  /** The running informer of a type; undefined when there is no lease of it. */
  peek(type: TypeRef): Informer | undefined;
  stop(): Promise<void>;
}

/** Makes a pool whose informers watch whole types, or the objects with certain labels. */
export function createInformerPool(
  client: KubeReader,
  options: Pick<InformerOptions, "labelSelector" | "onError" | "sleep" | "transform"> = {},
): InformerPool {
  const shared = new Map<string, { readonly informer: Informer; holders: number }>();
  let hasStopped = false;
  const nameOf = ({ apiVersion, kind }: TypeRef): string => `${apiVersion}/${kind}`;

  return {
    acquire(type) {
      const name = nameOf(type);
      if (hasStopped) return stoppedLease(startInformer(client, type, options));
      const entry = shared.get(name) ?? { informer: startInformer(client, type, options), holders: 0 };
      shared.set(name, entry);
      entry.holders++;
      let held = true;
      return {
        informer: entry.informer,
        async release() {
          if (!held) return;
          held = false;
          if (--entry.holders > 0) return;
          shared.delete(name);
          await entry.informer.stop();
        },
      };
    },
    peek: (type) => shared.get(nameOf(type))?.informer,
    async stop() {
      hasStopped = true;
      const informers = [...shared.values()].map(({ informer }) => informer);
      shared.clear();
      await Promise.all(informers.map((informer) => informer.stop()));
    },
  };
}

/** The informer of a pool that has stopped: a new one would never be stopped, and would retry for ever. */
function stoppedLease(informer: Informer): InformerLease {
  const stopped = informer.stop();
  return { informer, release: () => stopped };
}
