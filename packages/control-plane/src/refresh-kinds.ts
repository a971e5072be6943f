// SPDX-License-Identifier: Apache-2.0
import type { Clock, Log } from "@purlin/base";
import type { InformerPool, RestMapper } from "@purlin/kube-client";
import type { TypeRef } from "@purlin/kube-objects/object";

/** What {@link createKindRefresher} needs. */
interface KindRefresherDeps {
  readonly informers: InformerPool;
  readonly mapper: RestMapper;
  readonly clock: Pick<Clock, "schedule">;
  readonly log: Log;
  /** Whether an established CRD says that the server serves a kind. */
  readonly isEstablished: (type: TypeRef) => boolean;
}

/** Refreshes the caches of a kind after its CRD changed. */
export interface KindRefresher {
  refresh(type: TypeRef): void;
  close(): void;
}

/**
 * A kube-apiserver serves a changed CRD shortly after it reports the change, and several of them do so at different times.
 * So the mapping is looked up and the objects are listed at once, and again after each of these delays.
 */
const againAfterMs: readonly number[] = [1000, 5000];

/** Makes a refresher that refreshes kinds while they have an informer. */
export function createKindRefresher({
  informers,
  mapper,
  clock,
  log,
  isEstablished,
}: KindRefresherDeps): KindRefresher {
  const pending = new Map<string, () => void>();

  function run(type: TypeRef, [nextMs, ...laterMs]: readonly number[]): void {
    const name = `${type.apiVersion}/${type.kind}`;
    pending.get(name)?.();
    pending.delete(name);
    mapper.forget(type.apiVersion);
    const informer = informers.peek(type);
    informer?.relist();
    if (informer === undefined) return;
    if (nextMs === undefined) void logUnmapped(type);
    else
      pending.set(
        name,
        clock.schedule(nextMs, () => run(type, laterMs)),
      );
  }

  async function logUnmapped(type: TypeRef): Promise<void> {
    const { apiVersion, kind } = type;
    try {
      await mapper.mapping(type);
    } catch (error) {
      if (!isEstablished(type)) return;
      const text = error instanceof Error ? error.message : String(error);
      log.info("cannot map a kind whose CRD is established, retrying", { apiVersion, kind, error: text });
    }
  }

  return {
    refresh: (type) => run(type, againAfterMs),
    close() {
      for (const cancel of pending.values()) cancel();
      pending.clear();
    },
  };
}
