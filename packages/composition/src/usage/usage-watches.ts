// SPDX-License-Identifier: Apache-2.0
import type { Log } from "@purlin/base";
import type { CacheChange } from "@purlin/kube-client/objects";
import type { ControllerEngine, WatchSpec } from "@purlin/kube-controller";
import { textOf } from "@purlin/kube-objects/errors";
import {
  annotationOf,
  type KubeObject,
  keyOf,
  labelOf,
  memberAt,
  type ObjectKey,
  parseApiVersion,
  type TypeRef,
  textMapAt,
} from "@purlin/kube-objects/object";
import { kinds } from "../composite-resource/constants.ts";
import { attemptAnnotation } from "./definition-guard.ts";
import { inUseLabel } from "./release-usage.ts";
import { targetOf, type UsageEntry, type UsageIndex } from "./usage-index.ts";
import { isUnresolved, type Side, sideType, type UsedObjects } from "./usage-objects.ts";

interface UsageWatchDeps {
  readonly engine: ControllerEngine;
  readonly log: Log;
  readonly index: UsageIndex;
  readonly objects: UsedObjects;
}

/** A selector that has not found its object. */
interface Unresolved {
  /** The Usage. */
  readonly key: ObjectKey;
  readonly labels: readonly (readonly [string, string])[];
}

/** The name of the controller of a kind of Usages. */
export function usageControllerName({ apiVersion, kind }: TypeRef): string {
  return `usage/${kind.toLowerCase()}.${parseApiVersion(apiVersion).group}`;
}

/** The key of a Usage in the index of the controllers. */
export function indexKey({ apiVersion, kind }: TypeRef, { namespace = "", name }: ObjectKey): string {
  return `${parseApiVersion(apiVersion).group}/${kind}/${namespace}/${name}`;
}

/** The watches on the kinds of used and using objects, of one controller. They stay: there are few kinds. */
export class UsageWatches {
  readonly #type: TypeRef;
  readonly #deps: UsageWatchDeps;
  /** The selectors that are not resolved, by the type that they select from and by Usage. */
  readonly #unresolved = new Map<string, Map<string, Unresolved>>();

  constructor(type: TypeRef, deps: UsageWatchDeps) {
    this.#type = type;
    this.#deps = deps;
  }

  /** Watches the kinds of a Usage. Resolves to whether one of them cannot be watched, and has to be read now and then. */
  async start(usage: KubeObject, signal: AbortSignal): Promise<boolean> {
    const sides: Side[] = memberAt(usage, ["spec", "by"]) === undefined ? ["of"] : ["of", "by"];
    const types = sides.map((side) => sideType(usage, side));
    const key = keyOf(usage);
    this.forget(key);
    for (const side of sides) if (isUnresolved(usage, side)) this.#await(usage, side);
    // Secrets are cached nowhere.
    const watchable = types.filter((type) => typeText(type) !== typeText(kinds.secret));
    try {
      const specs = watchable.map((type) => this.#watchOn(type));
      await this.#deps.engine.startWatches(usageControllerName(this.#type), specs, signal);
      return watchable.length < types.length;
    } catch (error) {
      if (signal.aborted) throw error;
      // A kind that is not served is reported by the step that reads its object.
      this.#deps.log.debug("cannot watch the kinds of a Usage", { usage: key.name, error: textOf(error) });
      return true;
    }
  }

  forget(key: ObjectKey): void {
    for (const [type, selectors] of this.#unresolved) {
      for (const side of ["of", "by"]) selectors.delete(`${side} ${indexKey(this.#type, key)}`);
      if (selectors.size === 0) this.#unresolved.delete(type);
    }
  }

  #await(usage: KubeObject, side: Side): void {
    const key = keyOf(usage);
    const type = typeText(sideType(usage, side));
    const selectors = this.#unresolved.get(type) ?? new Map<string, Unresolved>();
    const labels = Object.entries(textMapAt(usage, ["spec", side, "resourceSelector", "matchLabels"]) ?? {});
    this.#unresolved.set(type, selectors.set(`${side} ${indexKey(this.#type, key)}`, { key, labels }));
  }

  /** The keys of the Usages of this kind that protect a Usage, directly or through others. */
  guardiansOf(usage: KubeObject): readonly ObjectKey[] {
    return this.#deps.index
      .guardians(targetOf(usage))
      .filter((entry) => this.#isOurs(entry))
      .map(keyFrom);
  }

  #watchOn(object: TypeRef): WatchSpec {
    const { informers } = this.#deps.objects;
    return { type: "Dependency", object, informers, keys: (change) => this.#keysOf(change) };
  }

  *#keysOf(change: CacheChange): Generator<ObjectKey> {
    const { object } = change;
    const { index } = this.#deps;
    const isRelevant = change.type !== "updated" || hasChanged(change.previous, object);
    if (isRelevant) {
      const target = targetOf(object);
      for (const entry of new Set([...index.pointing(target), ...index.users(target)])) {
        if (this.#isOurs(entry)) yield keyFrom(entry);
      }
    }
    if (change.type === "deleted") return;
    for (const { key, labels } of this.#unresolved.get(typeText(object))?.values() ?? []) {
      if (labels.every(([name, value]) => labelOf(object, name) === value)) yield key;
    }
  }

  #isOurs({ self }: UsageEntry): boolean {
    return self.kind === this.#type.kind && self.group === parseApiVersion(this.#type.apiVersion).group;
  }
}

function keyFrom({ self: { namespace, name } }: UsageEntry): ObjectKey {
  return namespace === "" ? { name } : { name, namespace };
}

function typeText({ apiVersion, kind }: TypeRef): string {
  return `${apiVersion}/${kind}`;
}

/** Whether a change of an object matters to its Usages. */
function hasChanged(before: KubeObject, after: KubeObject): boolean {
  const facts = (object: KubeObject): string =>
    JSON.stringify([
      object.metadata.uid,
      object.metadata.deletionTimestamp,
      object.metadata.labels?.[inUseLabel],
      annotationOf(object, attemptAnnotation),
    ]);
  return facts(before) !== facts(after);
}
