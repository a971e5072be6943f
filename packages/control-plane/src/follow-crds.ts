// SPDX-License-Identifier: Apache-2.0
import type { Clock, Log } from "@purlin/base";
import type { CacheChange, InformerPool, RestMapper } from "@purlin/kube-client";
import { crdType, isEstablished } from "@purlin/kube-controller";
import { isJsonObject } from "@purlin/kube-objects/json";
import type { KubeObject, TypeRef } from "@purlin/kube-objects/object";
import { createKindRefresher } from "./refresh-kinds.ts";

/** What {@link followCrds} keeps up to date. */
interface CrdFollowers {
  readonly informers: InformerPool;
  readonly mapper: RestMapper;
  readonly clock: Pick<Clock, "schedule">;
  readonly log: Log;
  /** Called with the kinds that may have changed, as `apiVersion/Kind`, and whether their definition is gone. */
  readonly onChange: (kinds: readonly string[], isGone: boolean) => void;
}

/**
 * When the CRD of a kind changes, drops what was learned about the kind (its path, scope and schema) and lists its cached
 * objects again: the server now prunes and defaults them differently. Resolves when all CRDs are known, with a function
 * that stops following them; rejects when the signal aborts before that.
 */
export async function followCrds(
  { informers, mapper, clock, log, onChange }: CrdFollowers,
  signal?: AbortSignal,
): Promise<() => Promise<void>> {
  const { informer, release } = informers.acquire(crdType);
  try {
    await informer.ready(signal);
  } catch (error) {
    await release();
    throw error;
  }
  const kinds = createKindRefresher({
    informers,
    mapper,
    clock,
    log,
    isEstablished: (type) => informer.list().some((crd) => isEstablished(crd) && serves(crd, type)),
  });
  let isNews = false;
  const unsubscribe = informer.subscribe((change) => {
    // A subscriber first gets the CRDs that exist, about whose kinds nothing is cached yet.
    if (!isNews) return;
    const served = servedBy(change);
    for (const type of served) {
      if (isRedefined(change)) kinds.refresh(type);
      else mapper.forget(type.apiVersion);
      // A kind that is served again is listed now, not at the next retry.
      informers
        .peek(type)
        ?.ready()
        .catch(() => {});
    }
    onChange(
      served.map(({ apiVersion, kind }) => `${apiVersion}/${kind}`),
      change.type === "deleted",
    );
  });
  isNews = true;
  return async () => {
    unsubscribe();
    kinds.close();
    await release();
  };
}

/** Whether the CRD itself changed, not only its status. */
function isRedefined(change: CacheChange): boolean {
  if (change.type !== "updated") return true;
  const [before, now] = [change.previous.metadata, change.object.metadata];
  return before.generation !== now.generation || before.uid !== now.uid;
}

function servedBy(change: CacheChange): TypeRef[] {
  const crds = change.type === "updated" ? [change.previous, change.object] : [change.object];
  return crds.flatMap(typesOf);
}

function typesOf(crd: KubeObject): TypeRef[] {
  return versionsOf(crd).map(({ type }) => type);
}

function serves(crd: KubeObject, { apiVersion, kind }: TypeRef): boolean {
  return versionsOf(crd).some(({ type, isServed }) => isServed && type.kind === kind && type.apiVersion === apiVersion);
}

function versionsOf(crd: KubeObject): { readonly type: TypeRef; readonly isServed: boolean }[] {
  const spec = isJsonObject(crd["spec"]) ? crd["spec"] : {};
  const names = isJsonObject(spec["names"]) ? spec["names"] : {};
  const versions = Array.isArray(spec["versions"]) ? spec["versions"].filter(isJsonObject) : [];
  return versions.map(({ name, served }) => ({
    type: { apiVersion: `${spec["group"]}/${name}`, kind: String(names["kind"]) },
    isServed: served === true,
  }));
}
