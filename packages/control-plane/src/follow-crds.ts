// SPDX-License-Identifier: Apache-2.0
import type { Clock, Log } from "@purlin/base";
import type { CacheChange, InformerPool, RestMapper } from "@purlin/kube-client";
import { crdType, isEstablished } from "@purlin/kube-controller";
import { isJsonObject, type JsonObject } from "@purlin/kube-objects/json";
import { type KubeObject, memberAt, type TypeRef, textAt } from "@purlin/kube-objects/object";
import { type SensitiveKinds, sensitiveFieldsIn } from "@purlin/run-store";

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
 * When the CRD of a kind changes, drops the cached facts about the kind (its path, scope and schema) and lists its cached
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

/** Makes a refresher that lists the objects of kinds with an informer again. */
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
    // A kind without an informer is looked at again as well: one that starts now may list objects by the definition of before.
    if (nextMs !== undefined)
      pending.set(
        name,
        clock.schedule(nextMs, () => run(type, laterMs)),
      );
    else if (informer !== undefined) void logUnmapped(type);
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

const definitionType = { apiVersion: "apiextensions.crossplane.io/v1", kind: "CompositeResourceDefinition" };

/**
 * Keeps the fields that schemas declare sensitive up to date, from XRDs and CRDs. A CRD has fewer keywords than the XRD it is derived
 * from. Returns a function that stops it.
 */
export function followSensitiveFields(informers: InformerPool, kinds: SensitiveKinds): () => Promise<void> {
  const leases = [definitionType, crdType].map((type) => {
    const lease = informers.acquire(type);
    const unsubscribe = lease.informer.subscribe((change) => note(change, kinds));
    return async () => {
      unsubscribe();
      await lease.release();
    };
  });
  return async () => {
    for (const release of leases) await release();
  };
}

function note({ type, object }: CacheChange, kinds: SensitiveKinds): void {
  // What was recorded of a kind that is gone stays hidden; so do its last objects.
  if (type === "deleted") return;
  const group = textAt(object, ["spec", "group"]) ?? "";
  for (const version of schemasOf(object)) {
    const schema = isJsonObject(version["schema"]) ? version["schema"] : {};
    const fields = sensitiveFieldsIn(schema["openAPIV3Schema"]);
    if (fields === undefined) continue;
    for (const kind of kindsOf(object)) kinds.set(`${group}/${String(version["name"])}`, kind, fields);
  }
}

function schemasOf(object: KubeObject): readonly JsonObject[] {
  const versions = memberAt(object, ["spec", "versions"]);
  return Array.isArray(versions) ? versions.filter(isJsonObject) : [];
}

function kindsOf(object: KubeObject): readonly string[] {
  const kind = (member: string): string | undefined => textAt(object, ["spec", member, "kind"]);
  return [kind("names"), kind("claimNames")].filter((name) => name !== undefined);
}
