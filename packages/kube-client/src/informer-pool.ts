// SPDX-License-Identifier: Apache-2.0

import type { TypeRef } from "@purlin/kube-objects/object";
import type { KubeReader } from "./client.ts";
import { type Informer, type InformerOptions, startInformer } from "./informer.ts";

/** A share in an informer; give it back when it is no longer needed. */
export interface InformerLease {
  readonly informer: Informer;
  /** Stops the informer when nobody else holds it. */
  release(): Promise<void>;
}

/** One informer a type, shared by everybody who asks: one list and one watch, however many controllers there are. */
export interface InformerPool {
  /** After the pool has stopped its informers have, too: who waits for one is told so. */
  acquire(type: TypeRef): InformerLease;
  /** The informer of a type that somebody holds now. */
  peek(type: TypeRef): Informer | undefined;
  stop(): Promise<void>;
}

/** Makes a pool whose informers watch whole types. */
export function createInformerPool(
  client: KubeReader,
  options: Pick<InformerOptions, "onError" | "sleep"> = {},
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

/** Nobody is left to stop what somebody asks for too late: it would try to reach its server for ever. */
function stoppedLease(informer: Informer): InformerLease {
  const stopped = informer.stop();
  return { informer, release: () => stopped };
}
