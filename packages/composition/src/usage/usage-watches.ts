// SPDX-License-Identifier: Apache-2.0
import type { Clock, Log } from "@purlin/base";
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
import { targetOf, type UsageEntry, type UsageIndex } from "./usage-index.ts";
import { inUseLabel, isUnresolved, type Side, sideType, type UsedObjects } from "./usage-objects.ts";

interface UsageWatchDeps {
  readonly engine: ControllerEngine;
  readonly clock: Clock;
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

/** The Usages that wait for an object of a type. */
interface Waiting {
  readonly type: TypeRef;
  /** Their keys in the index. */
  readonly usages: Set<string>;
  /** Keeps the watch of the type from being stopped. */
  keep: () => void;
}

const usedWatch = "Used";
const awaitedWatch = "Dependency";
/** For how long a type is watched after the last Usage has found its object: the next one may wait soon, and a new watch lists all objects. */
const idleMs = 600_000;

/** The name of the controller of a kind of Usages. */
export function usageControllerName({ apiVersion, kind }: TypeRef): string {
  return `usage/${kind.toLowerCase()}.${parseApiVersion(apiVersion).group}`;
}

/** The key of a Usage in the index of the controllers. */
export function indexKey({ apiVersion, kind }: TypeRef, { namespace = "", name }: ObjectKey): string {
  return `${parseApiVersion(apiVersion).group}/${kind}/${namespace}/${name}`;
}

/**
 * The watches on the kinds of used and using objects, of one controller. A Usage that holds its object needs only the objects that have the label
 * of used ones, so that changes of the others cost nothing. All objects of a kind are watched while a Usage waits for one.
 */
export class UsageWatches {
  readonly #type: TypeRef;
  readonly #deps: UsageWatchDeps;
  /** The selectors that are not resolved, by the type that they select from and by Usage. */
  readonly #unresolved = new Map<string, Map<string, Unresolved>>();
  readonly #waiting = new Map<string, Waiting>();

  constructor(type: TypeRef, deps: UsageWatchDeps) {
    this.#type = type;
    this.#deps = deps;
  }

  /**
   * Watches the used objects of the kind of a Usage, and what its selectors wait for. Resolves to whether one of its kinds cannot be watched, and
   * has to be read now and then.
   */
  async start(usage: KubeObject, signal: AbortSignal): Promise<boolean> {
    const sides: Side[] = memberAt(usage, ["spec", "by"]) === undefined ? ["of"] : ["of", "by"];
    this.#forgetSelectors(keyOf(usage));
    const unresolved = sides.filter((side) => isUnresolved(usage, side));
    for (const side of unresolved) this.#select(usage, side);
    const used = { type: usedWatch, object: sideType(usage, "of"), keys: this.#keysOfNaming };
    let isWatched = await this.#watch({ ...used, informers: this.#deps.objects.used }, signal);
    for (const side of unresolved) isWatched = (await this.awaitObject(usage, side, signal)) && isWatched;
    return !isWatched || sides.some((side) => isSecret(sideType(usage, side)));
  }

  /** Wakes the Usage when the object at one side changes, from now on. Resolves to whether the kind can be watched. */
  async awaitObject(usage: KubeObject, side: Side, signal: AbortSignal): Promise<boolean> {
    const type = sideType(usage, side);
    const waiting = this.#waiting.get(typeText(type)) ?? { type, usages: new Set<string>(), keep: () => {} };
    waiting.keep();
    waiting.usages.add(indexKey(this.#type, keyOf(usage)));
    this.#waiting.set(typeText(type), waiting);
    const { awaited } = this.#deps.objects;
    return this.#watch({ type: awaitedWatch, object: type, keys: this.#keysOfWaiting, informers: awaited }, signal);
  }

  /** A Usage waits for nothing any longer. */
  settled(key: ObjectKey): void {
    for (const waiting of this.#waiting.values()) {
      if (waiting.usages.delete(indexKey(this.#type, key)) && waiting.usages.size === 0) this.#stopSoon(waiting);
    }
  }

  forget(key: ObjectKey): void {
    this.#forgetSelectors(key);
    this.settled(key);
  }

  /** The keys of the Usages of this kind that protect a Usage, directly or through others. */
  guardiansOf(usage: KubeObject): readonly ObjectKey[] {
    return this.#deps.index
      .guardians(targetOf(usage))
      .filter((entry) => this.#isOurs(entry))
      .map(keyFrom);
  }

  async #watch(spec: WatchSpec, signal: AbortSignal): Promise<boolean> {
    // Secrets are cached nowhere.
    if (isSecret(spec.object)) return false;
    try {
      await this.#deps.engine.startWatches(usageControllerName(this.#type), [spec], signal);
      return true;
    } catch (error) {
      if (signal.aborted) throw error;
      // A kind that is not served is reported by the step that reads its object.
      this.#deps.log.debug("cannot watch a kind of a Usage", { kind: spec.object.kind, error: textOf(error) });
      return false;
    }
  }

  #stopSoon(waiting: Waiting): void {
    const { clock, engine, log } = this.#deps;
    waiting.keep = clock.schedule(idleMs, () => {
      this.#waiting.delete(typeText(waiting.type));
      const watch = { type: awaitedWatch, object: waiting.type };
      engine.stopWatches(usageControllerName(this.#type), [watch]).catch((error: unknown) => {
        log.debug("cannot stop the watch of a kind", { kind: waiting.type.kind, error: textOf(error) });
      });
    });
  }

  #forgetSelectors(key: ObjectKey): void {
    for (const [type, selectors] of this.#unresolved) {
      for (const side of ["of", "by"]) selectors.delete(`${side} ${indexKey(this.#type, key)}`);
      if (selectors.size === 0) this.#unresolved.delete(type);
    }
  }

  #select(usage: KubeObject, side: Side): void {
    const key = keyOf(usage);
    const type = typeText(sideType(usage, side));
    const selectors = this.#unresolved.get(type) ?? new Map<string, Unresolved>();
    const labels = Object.entries(textMapAt(usage, ["spec", side, "resourceSelector", "matchLabels"]) ?? {});
    this.#unresolved.set(type, selectors.set(`${side} ${indexKey(this.#type, key)}`, { key, labels }));
  }

  /**
   * The Usages that wait for the changed object, by its name or by its labels. Those that name an object that changed or is gone do not have to
   * wait for it: the watch of used objects may have woken them before this one knew, and they then read what this one had.
   */
  readonly #keysOfWaiting = (change: CacheChange): readonly ObjectKey[] => {
    const usages = this.#waiting.get(typeText(change.object))?.usages;
    const naming = this.#keysOfNaming(change);
    const woken = change.type === "added" ? naming.filter((key) => usages?.has(indexKey(this.#type, key))) : naming;
    return [...woken, ...this.#keysOfSelecting(change)];
  };

  /** The Usages that name the changed object. */
  readonly #keysOfNaming = (change: CacheChange): readonly ObjectKey[] => {
    const { object } = change;
    const { index } = this.#deps;
    if (!index.names(object) || (change.type === "updated" && !hasChanged(change.previous, object))) return [];
    const target = targetOf(object);
    const entries = new Set([...index.pointing(target), ...index.users(target)]);
    return [...entries].filter((entry) => this.#isOurs(entry)).map(keyFrom);
  };

  /** The Usages that wait for an object with the labels of the changed one. */
  #keysOfSelecting({ type, object }: CacheChange): readonly ObjectKey[] {
    const selectors = type === "deleted" ? undefined : this.#unresolved.get(typeText(object));
    return [...(selectors?.values() ?? [])]
      .filter(({ labels }) => labels.every(([name, value]) => labelOf(object, name) === value))
      .map(({ key }) => key);
  }

  #isOurs({ self }: UsageEntry): boolean {
    return self.kind === this.#type.kind && self.group === parseApiVersion(this.#type.apiVersion).group;
  }
}

function isSecret(type: TypeRef): boolean {
  return typeText(type) === typeText(kinds.secret);
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
