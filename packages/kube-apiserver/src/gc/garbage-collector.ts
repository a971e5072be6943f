// SPDX-License-Identifier: Apache-2.0
import { isConflict, isDeletionDenied, isNotFound } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { type OwnerReference, parseApiVersion } from "@purlin/kube-objects/object";
import type { ReleasedObject } from "../rest/delete-guard.ts";
import type { Change, Store, Watch } from "../store/store.ts";
import { type Action, decide, type OwnedObject, ownedObject, type World } from "./decide.ts";

/** The graph of owners and dependents. Only objects that have owners take memory. */
export class OwnershipIndex {
  readonly #dependents = new Map<string, Map<string, OwnedObject>>();
  readonly #byUid = new Map<string, OwnedObject>();

  /** Takes in a new state of an object. */
  put(object: OwnedObject): void {
    this.remove(object.uid);
    if (object.owners.length === 0) return;
    this.#byUid.set(object.uid, object);
    for (const { uid } of object.owners) {
      const dependents = this.#dependents.get(uid) ?? new Map<string, OwnedObject>();
      dependents.set(object.uid, object);
      this.#dependents.set(uid, dependents);
    }
  }

  /** Forgets an object as a dependent; others may still name it as their owner. */
  remove(uid: string): void {
    const known = this.#byUid.get(uid);
    if (known === undefined) return;
    this.#byUid.delete(uid);
    for (const owner of known.owners) {
      const dependents = this.#dependents.get(owner.uid);
      dependents?.delete(uid);
      if (dependents?.size === 0) this.#dependents.delete(owner.uid);
    }
  }

  /** A dependent by its uid. */
  get(uid: string): OwnedObject | undefined {
    return this.#byUid.get(uid);
  }

  dependentsOf(uid: string): OwnedObject[] {
    return [...(this.#dependents.get(uid)?.values() ?? [])];
  }

  /** All dependents, for a look at everything. */
  all(): IterableIterator<OwnedObject> {
    return this.#byUid.values();
  }
}

/** Carries out what was decided, as any client would. Every call checks that the object is still the one meant. */
export interface GarbageActions {
  delete(object: OwnedObject, policy: "Background" | "Foreground" | "Orphan"): Promise<void>;
  dropOwners(object: OwnedObject, uids: readonly string[]): Promise<void>;
  dropFinalizer(object: OwnedObject, finalizer: string): Promise<void>;
}

/** What a collector works on. */
export interface GarbageCollectorOptions {
  readonly store: Store<JsonObject>;
  readonly actions: GarbageActions;
  /** The object a reference means; see {@link World.ownerOf}. */
  readonly ownerOf: World["ownerOf"];
  readonly onError: (error: unknown) => void;
  /** Waits before something that failed is tried again. */
  readonly retryDelayMs?: number;
}

/** The longest time between two attempts to delete an object that is protected. */
const longestDelayMs = 60_000;

function identityOf({ group, kind, namespace, name }: ReleasedObject): string {
  return [group, kind, namespace, name].join("/");
}

/** How many objects are worked on at once. */
const parallel = 16;

/**
 * Deletes objects whose owners are gone. It follows the store's changes, tracks dependents, and visits an object again
 * whenever it, an owner or a dependent of it has changed.
 */
export class GarbageCollector {
  readonly #options: GarbageCollectorOptions;
  readonly #index = new OwnershipIndex();
  /** Objects that own others or hold back their own deletion; the rest need not be known. */
  readonly #owners = new Map<string, OwnedObject>();
  readonly #waiting = new Set<string>();
  /** Objects being worked on: two visits at once would do the same twice. */
  readonly #busy = new Set<string>();
  /** One timer for each object: an object that changes often would otherwise gain one more with each change. */
  readonly #retries = new Map<string, NodeJS.Timeout>();
  /** Objects whose deletion was denied, by what they are, and how often. */
  readonly #denied = new Map<string, { readonly uid: string; readonly attempts: number }>();
  #watch: Watch<JsonObject> | undefined;
  #stopped = false;

  constructor(options: GarbageCollectorOptions) {
    this.#options = options;
  }

  /** Looks at everything there is, then follows changes. */
  start(): void {
    const { store } = this.#options;
    const { entries, revision } = store.list({ prefix: "/" });
    for (const entry of entries) this.#take(ownedObject(entry.value), undefined);
    this.#watch = store.watch({ scope: "/", after: revision, onReady: () => this.#follow() });
    this.#follow();
  }

  stop(): void {
    this.#stopped = true;
    this.#watch?.close();
    for (const timer of this.#retries.values()) clearTimeout(timer);
    this.#retries.clear();
  }

  /** Looks at every dependent again: a kind that was not served may be there now. */
  revisit(): void {
    for (const { uid } of this.#index.all()) this.#enqueue(uid);
  }

  /** Visits an object again whose deletion was denied: nothing protects it any longer. */
  released(object: ReleasedObject): void {
    const name = identityOf(object);
    const denied = this.#denied.get(name);
    this.#denied.delete(name);
    if (denied !== undefined) this.#enqueue(denied.uid);
  }

  #follow(): void {
    if (this.#stopped || this.#watch === undefined) return;
    try {
      for (let changes = this.#watch.take(); changes.length > 0; changes = this.#watch.take()) {
        for (const change of changes) this.#change(change);
      }
    } catch (error) {
      if (this.#stopped) return;
      // History moved on without us: look at everything again.
      this.#options.onError(error);
      this.#watch.close();
      this.start();
    }
  }

  #change({ entry, previous }: Change<JsonObject>): void {
    this.#take(entry && ownedObject(entry.value), previous && ownedObject(previous.value));
  }

  #take(now: OwnedObject | undefined, before: OwnedObject | undefined): void {
    if (now === undefined) {
      if (before !== undefined) this.#gone(before);
      return;
    }
    this.#index.put(now);
    if (now.isDeleting) this.#owners.set(now.uid, now);
    if (now.owners.length > 0 || now.isDeleting) this.#enqueue(now.uid);
    // Owners that were given up may be waiting for just that.
    for (const { uid } of before?.owners ?? []) this.#enqueue(uid);
  }

  #gone(object: OwnedObject): void {
    this.#index.remove(object.uid);
    this.#owners.delete(object.uid);
    clearTimeout(this.#retries.get(object.uid));
    this.#retries.delete(object.uid);
    this.#denied.delete(identityOf({ ...object, group: parseApiVersion(object.apiVersion).group }));
    for (const { uid } of this.#index.dependentsOf(object.uid)) this.#enqueue(uid);
    for (const { uid } of object.owners) this.#enqueue(uid);
  }

  #enqueue(uid: string): void {
    if (this.#stopped) return;
    this.#waiting.add(uid);
    queueMicrotask(() => this.#work());
  }

  #work(): void {
    for (const uid of this.#waiting) {
      if (this.#busy.size >= parallel || this.#stopped) return;
      if (this.#busy.has(uid)) continue;
      this.#waiting.delete(uid);
      this.#busy.add(uid);
      void this.#visit(uid).finally(() => {
        this.#busy.delete(uid);
        this.#work();
      });
    }
  }

  async #visit(uid: string): Promise<void> {
    const object = this.#index.get(uid) ?? this.#owners.get(uid);
    if (object === undefined) return;
    const world: World = {
      ownerOf: (reference: OwnerReference, dependent) => this.#options.ownerOf(reference, dependent),
      dependentsOf: (owner) => this.#index.dependentsOf(owner),
    };
    for (const action of this.#decided(object, world)) {
      try {
        await this.#act(action);
      } catch (error) {
        this.#failed(uid, error);
      }
    }
  }

  /** A visit is not awaited, so its errors are reported here. */
  #decided(object: OwnedObject, world: World): readonly Action[] {
    try {
      return decide(object, world);
    } catch (error) {
      this.#failed(object.uid, error);
      return [];
    }
  }

  #act(action: Action): Promise<void> | undefined {
    const { actions } = this.#options;
    switch (action.action) {
      case "delete":
        return actions.delete(action.object, action.policy);
      case "dropOwners":
        return actions.dropOwners(action.object, action.uids);
      case "dropFinalizer":
        return actions.dropFinalizer(action.object, action.finalizer);
      case "visit":
        this.#enqueue(action.uid);
        return undefined;
    }
  }

  /** What is gone is done; what changed meanwhile comes again with its change; anything else is tried again later. */
  #failed(uid: string, error: unknown): void {
    if (this.#stopped || isNotFound(error) || isConflict(error)) return;
    const attempts = isDeletionDenied(error) ? this.#deniedAgain(uid) : 1;
    // A denial stays as long as the protection does: it is reported once.
    if (attempts === 1) this.#options.onError(error);
    clearTimeout(this.#retries.get(uid));
    const timer = setTimeout(
      () => {
        this.#retries.delete(uid);
        this.#enqueue(uid);
      },
      Math.min((this.#options.retryDelayMs ?? 1000) * 2 ** (attempts - 1), longestDelayMs),
    );
    timer.unref();
    this.#retries.set(uid, timer);
  }

  #deniedAgain(uid: string): number {
    const object = this.#index.get(uid) ?? this.#owners.get(uid);
    if (object === undefined) return 1;
    const name = identityOf({ ...object, group: parseApiVersion(object.apiVersion).group });
    const attempts = (this.#denied.get(name)?.attempts ?? 0) + 1;
    this.#denied.set(name, { uid, attempts });
    return attempts;
  }
}
